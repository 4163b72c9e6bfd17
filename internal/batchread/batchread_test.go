package batchread_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"example.com/flashsale/internal/batchread"
	"example.com/flashsale/internal/check"
)

// squares counts its queries, each of which takes a second, or until its context ends.
type squares struct {
	queries atomic.Int64
	mu      sync.Mutex
	keys    []int
}

func (s *squares) query(ctx context.Context, _ string, keys []int) (map[int]int, error) {
	s.queries.Add(1)
	s.mu.Lock()
	s.keys = append(s.keys, keys...)
	s.mu.Unlock()
	select {
	case <-time.After(time.Second):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	values := map[int]int{}
	for _, k := range keys {
		values[k] = k * k
	}
	return values, nil
}

// The caller that is the first of the next leaves while it is running.
func TestReadsThatArriveDuringAQueryShareTheNext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := new(squares)
		r := batchread.New(time.Hour, s.query)
		leaves, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
		defer cancel()
		var wg sync.WaitGroup
		for k := range 101 {
			ctx, want := t.Context(), error(nil)
			if k == 1 {
				ctx, want = leaves, context.DeadlineExceeded
			}
			wg.Go(func() {
				if v, err := r.Read(ctx, "group", k); !errors.Is(err, want) || want == nil && v[k] != k*k {
					t.Errorf("%d: %v, %v; want %d, %v", k, v, err, k*k, want)
				}
			})
			if k <= 1 {
				synctest.Wait() // the first's query runs, and the second is queued
			}
		}
		wg.Wait()
		if n := s.queries.Load(); n != 2 {
			t.Errorf("%d queries, want 2", n)
		}
	})
}

func TestSlowQueryHoldsUpNeitherItsGroupNorAnother(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := new(squares)
		r := batchread.New(100*time.Millisecond, s.query)
		start := time.Now()
		var wg sync.WaitGroup
		for i, group := range []string{"a", "a", "b"} {
			wg.Go(func() { _, _ = r.Read(t.Context(), group, i) })
			synctest.Wait()
		}
		wg.Wait()
		if took := time.Since(start); took != 1100*time.Millisecond {
			t.Errorf("took %s, want 1.1 s", took)
		}
	})
}

func TestReadWhoseCallerHasLeftIsNotQueried(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := new(squares)
		r := batchread.New(time.Hour, s.query)
		go func() { _, _ = r.Read(t.Context(), "group", 1) }()
		synctest.Wait()
		left := errors.New("left")
		ctx, cancel := context.WithCancelCause(t.Context())
		gone := make(chan error, 1)
		go func() { _, err := r.Read(ctx, "group", 2); gone <- err }()
		synctest.Wait()
		cancel(left)
		check.ErrorIs(t, <-gone, left)
		if _, err := r.Read(t.Context(), "group", 3); err != nil {
			t.Error(err)
		}
		if !slices.Equal(s.keys, []int{1, 3}) {
			t.Errorf("queried %v", s.keys)
		}
	})
}

func TestFailedQueryFailsItsReads(t *testing.T) {
	t.Parallel()
	failure := errors.New("failure")
	r := batchread.New(time.Hour, func(context.Context, int, []int) (string, error) { return "", failure })
	if v, err := r.Read(t.Context(), 1, 2); !errors.Is(err, failure) || v != "" {
		t.Errorf("%q, %v; want the error of the query", v, err)
	}
}
