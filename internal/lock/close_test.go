package lock

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"example.com/flashsale/internal/check"
)

// eventKinds are the events of a client.
type eventKinds struct {
	mu    sync.Mutex
	kinds []EventKind
	held  time.Duration // the longest
}

func (k *eventKinds) add(e Event) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.kinds, k.held = append(k.kinds, e.Kind), max(k.held, e.Hold)
}

func (k *eventKinds) want(t *testing.T, kinds ...EventKind) {
	t.Helper()
	k.mu.Lock()
	defer k.mu.Unlock()
	if !slices.Equal(k.kinds, kinds) {
		t.Errorf("events %v, want %v", k.kinds, kinds)
	}
}

// The second request would find no lease, and the lock would be reported lost.
func TestReleaseDuringCloseSendsNoSecondRequest(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var seen eventKinds
		l := &fake{Locker: Local(), release: func(context.Context) error { time.Sleep(time.Second); return nil }}
		c := New(l, WithObserver(seen.add))
		held := mustAcquire(t, c, t.Context(), Options{})
		go c.Close()
		synctest.Wait()
		check.ErrorIs(t, held.Release(t.Context()), ErrClosed)
		time.Sleep(time.Minute)
		if n := l.releases.Load(); n != 1 {
			t.Errorf("%d requests for the release, want 1", n)
		}
		seen.want(t, EventAcquired, EventReleased)
	})
}

// Either Release or Close ends the lock; neither loses it.
func TestLockIsNotLostWhenCloseAndReleaseMeet(t *testing.T) {
	t.Parallel()
	for range 2000 {
		var seen eventKinds
		c := New(Local(), WithObserver(seen.add))
		held := mustAcquire(t, c, t.Context(), Options{})
		var group sync.WaitGroup
		group.Go(c.Close)
		group.Go(func() {
			if err := held.Release(t.Context()); err != nil && !errors.Is(err, ErrClosed) {
				t.Errorf("Release = %v, want nil or ErrClosed", err)
			}
		})
		group.Wait()
		seen.want(t, EventAcquired, EventReleased)
	}
}

func TestAcquireAfterCloseReturnsErrClosedWithoutARequest(t *testing.T) {
	t.Parallel()
	for _, wait := range []time.Duration{0, time.Second, -1} {
		l := newCountingLocker()
		c := New(l)
		c.Close()
		for range 20 {
			if _, err := c.Acquire(t.Context(), "k", Options{Wait: wait}); !errors.Is(err, ErrClosed) ||
				errors.Is(err, ErrLocked) {
				t.Errorf("with a wait of %s: %v, want ErrClosed and not ErrLocked", wait, err)
			}
		}
		if n := l.tries.Load(); n != 0 {
			t.Errorf("with a wait of %s: %d requests after Close, want none", wait, n)
		}
	}
}

// drainedLocker is Local as a Drainer.
type drainedLocker struct {
	*local
	drained atomic.Int64
}

func (d *drainedLocker) Drain(ctx context.Context) {
	if _, bounded := ctx.Deadline(); bounded {
		d.drained.Add(1)
	}
}

func TestCloseDrainsTheDriver(t *testing.T) {
	t.Parallel()
	l := &drainedLocker{local: Local().(*local)}
	New(l).Close()
	if n := l.drained.Load(); n != 1 {
		t.Errorf("drained %d times within a time, want once", n)
	}
}
