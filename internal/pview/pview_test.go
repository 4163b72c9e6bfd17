package pview_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/lock/redislock"
	"example.com/flashsale/internal/pview"
)

func TestMain(m *testing.M) { labtest.Main(m) }

const crowd = 100

// count has a crowd view the page and returns the final count.
func count(t *testing.T, url string, view func(context.Context) error) int64 {
	t.Helper()
	var all sync.WaitGroup
	for range crowd {
		all.Go(func() {
			if err := view(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	n, err := labtest.DialURL(t, url).Get(t.Context(), pview.Key).Int64()
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// two are two processes' counters on one Redis, in turn.
func two(t *testing.T, url string) func() *pview.Counter {
	a, b := pview.New(labtest.DialURL(t, url)), pview.New(labtest.DialURL(t, url))
	var mu sync.Mutex
	return func() *pview.Counter {
		mu.Lock()
		defer mu.Unlock()
		a, b = b, a
		return a
	}
}

func TestOnlyADistributedLockCountsThemAll(t *testing.T) {
	t.Parallel()
	const think = time.Millisecond // so that all overlap
	for name, c := range map[string]struct {
		all  bool
		view func(context.Context, *pview.Counter, lock.Locker) error
	}{
		"none": {false, func(ctx context.Context, c *pview.Counter, _ lock.Locker) error {
			_, err := c.Unlocked(ctx, think)
			return err
		}},
		"mutex": {false, func(ctx context.Context, c *pview.Counter, _ lock.Locker) error {
			_, err := c.Here(ctx, think)
			return err
		}},
		"lock": {true, func(ctx context.Context, c *pview.Counter, l lock.Locker) error {
			_, err := c.Locked(ctx, l, lock.Options{Wait: time.Minute}, think)
			return err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := labtest.Redis(t).URL
			next, l := two(t, url), redislock.New(labtest.DialURL(t, url))
			got := count(t, url, func(ctx context.Context) error { return c.view(ctx, next(), l) })
			if (got == crowd) != c.all {
				t.Errorf("counted %d of %d", got, crowd)
			}
		})
	}
}

// TestStaleFenceIsRefused: a holder whose lease ends while it thinks cannot
// overwrite what the next one wrote, and one without a fence does.
func TestStaleFenceIsRefused(t *testing.T) {
	t.Parallel()
	for name, fenced := range map[string]bool{"fenced": true, "unfenced": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := labtest.Redis(t).URL
			rdb := labtest.DialURL(t, url)
			c, open := pview.New(rdb), redislock.New
			if fenced {
				open = redislock.Fenced
			}
			late := make(chan error)
			go func() {
				_, err := c.Locked(t.Context(), open(rdb), lock.Options{TTL: time.Second, NoRenewal: true}, 3*time.Second)
				late <- err
			}()
			for rdb.Exists(t.Context(), pview.LockKey).Val() == 0 {
				time.Sleep(time.Millisecond)
			}
			o := lock.Options{Wait: 10 * time.Second}
			for range 2 {
				if _, err := c.Locked(t.Context(), open(labtest.DialURL(t, url)), o, 0); err != nil {
					t.Fatal(err)
				}
			}
			err := <-late
			if !errors.Is(err, lock.ErrLost) || errors.Is(err, pview.ErrStale) != fenced {
				t.Errorf("the late holder got %v", err)
			}
			want := map[bool]int64{true: 2, false: 1}[fenced]
			if n, _ := rdb.Get(t.Context(), pview.Key).Int64(); n != want {
				t.Errorf("count = %d, want %d", n, want)
			}
		})
	}
}
