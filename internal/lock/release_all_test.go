package lock

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"example.com/flashsale/internal/check"
)

// A releasingLocker is Local as a BatchReleaser.
type releasingLocker struct {
	Locker
	batches [][]Lease
	reply   func(error) error
}

func (b *releasingLocker) ReleaseAll(ctx context.Context, leases []Lease) (errs []error) {
	b.batches = append(b.batches, leases)
	for _, l := range leases {
		errs = append(errs, b.reply(l.Release(ctx)))
	}
	return errs
}

func TestReleaseAllIsReleaseOfEach(t *testing.T) {
	t.Parallel()
	errNoReply := errors.New("no reply")
	for name, tc := range map[string]struct {
		reply func(error) error
		want  error
		kind  EventKind
	}{
		"released": {func(err error) error { return err }, nil, EventReleased},
		"lost":     {func(error) error { return ErrLost }, ErrLost, EventLost},
		"unknown":  {func(error) error { return errNoReply }, errNoReply, EventReleaseUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := &releasingLocker{Locker: Local(), reply: tc.reply}
			events := map[EventKind]int{}
			c := New(l, WithObserver(func(e Event) { events[e.Kind]++ }))
			defer c.Close()
			locks := acquireN(t, c, 3)
			ctx := locks[0].Context()
			c.ReleaseAll(t.Context(), append(locks, locks[0]))
			if len(l.batches) != 1 || len(l.batches[0]) != 3 || events[tc.kind] != 3 {
				t.Errorf("batches %v, events %v; want one batch of 3, and 3 of %v", l.batches, events, tc.kind)
			}
			for _, held := range locks {
				check.ErrorIs(t, held.Release(t.Context()), tc.want)
				check.ErrorIs(t, held.Err(), ErrReleased)
			}
			if !errors.Is(context.Cause(ctx), ErrReleased) {
				t.Errorf("the context's cause is %v, want ErrReleased", context.Cause(ctx))
			}
		})
	}
}

func acquireN(t *testing.T, c *Client, n int) (locks []*Lock) {
	t.Helper()
	for i := range n {
		l, err := c.Acquire(t.Context(), fmt.Sprint("k", i), Options{TTL: time.Minute})
		check.NoError(t, err)
		locks = append(locks, l)
	}
	return locks
}

func TestReleaseAllReleasesNoLeaseThatOthersShare(t *testing.T) {
	t.Parallel()
	l := &releasingLocker{Locker: Local(), reply: func(err error) error { return err }}
	c := New(l)
	defer c.Close()
	outer := acquireN(t, c, 2)
	inner, err := c.Acquire(outer[0].Context(), "k0", Options{Reentrant: true})
	check.NoError(t, err)
	_ = outer[1].Release(t.Context())
	c.ReleaseAll(t.Context(), outer)
	if len(l.batches) != 1 || len(l.batches[0]) != 0 || inner.Err() != nil {
		t.Errorf("batches %v, the inner lock: %v; want one without leases, and nil", l.batches, inner.Err())
	}
	c.ReleaseAll(t.Context(), []*Lock{inner})
	if _, err := l.TryLock(t.Context(), "k0", time.Minute); err != nil {
		t.Errorf("TryLock after the last release: %v", err)
	}
}

func TestReleaseAllWithoutBatchesReleasesEach(t *testing.T) {
	t.Parallel()
	l := Local()
	c := New(l)
	defer c.Close()
	locks := acquireN(t, c, 3)
	c.ReleaseAll(t.Context(), locks)
	for i := range locks {
		if _, err := l.TryLock(t.Context(), fmt.Sprint("k", i), time.Minute); err != nil {
			t.Errorf("TryLock after the release: %v", err)
		}
	}
}
