package lock

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/flashsale/internal/check"
)

func mustAcquire(t *testing.T, c *Client, ctx context.Context, o Options) *Lock {
	t.Helper()
	l, err := c.Acquire(ctx, "k", o)
	check.NoError(t, err)
	return l
}

func TestHolderIsToldOfItsLossBeforeTheLeaseEnds(t *testing.T) {
	t.Parallel()
	for name, extended := range map[string]func(context.Context) error{
		"no server": func(context.Context) error { return errDown }, "no reply": hang,
		"a driver without a limit": func(context.Context) error { time.Sleep(time.Minute); return errDown },
	} {
		t.Run(name, func(t *testing.T) { bubble(t, func(t *testing.T) { mustLose(t, extended) }) })
	}
}

func mustLose(t *testing.T, extended func(context.Context) error) {
	t.Helper()
	c := New(&fake{Locker: Local(), extended: extended})
	h := mustAcquire(t, c, t.Context(), Options{TTL: 10 * time.Second})
	ctx, start := h.Context(), time.Now()
	<-ctx.Done()
	if took := time.Since(start); took >= 10*time.Second || took < 9*time.Second {
		t.Errorf("lost after %s of a lease of 10s", took)
	}
	<-h.Done()
	for what, err := range map[string]error{"Err": h.Err(), "cause": context.Cause(ctx), "Release": h.Release(ctx),
		"again": h.Release(ctx)} {
		if !errors.Is(err, ErrLost) {
			t.Errorf("%s = %v, want ErrLost", what, err)
		}
	}
	time.Sleep(time.Minute) // until the driver has returned
}

func TestReentryNeedsNoServer(t *testing.T) {
	t.Parallel()
	l := &fake{Locker: Local()}
	c := New(l)
	h := mustAcquire(t, c, t.Context(), Options{})
	l.down.Store(true)
	inner := mustAcquire(t, c, h.Context(), Options{Reentrant: true})
	if inner.Fence() != h.Fence() {
		t.Errorf("fence %d inside %d", inner.Fence(), h.Fence())
	}
	check.NoError(t, h.Release(t.Context()))
	check.NoError(t, inner.Err())
	if _, err := l.Locker.TryLock(t.Context(), "k", time.Second); !errors.Is(err, ErrLocked) {
		t.Errorf("another's try while one shares it: %v, want ErrLocked", err)
	}
	check.NoError(t, inner.Release(t.Context()))
	if _, err := l.Locker.TryLock(t.Context(), "k", time.Second); err != nil {
		t.Errorf("another's try after both releases: %v", err)
	}
}

func TestReentryWithoutTheOptionFailsAtOnce(t *testing.T) {
	t.Parallel()
	c := New(Local())
	h := mustAcquire(t, c, t.Context(), Options{})
	if _, err := c.Acquire(h.Context(), "k", Options{Wait: -1}); !errors.Is(err, ErrReentry) {
		t.Errorf("%v, want ErrReentry", err)
	}
	other := mustAcquire(t, New(Local()), h.Context(), Options{Wait: -1}) // k of another client is another lock
	if _, err := c.Acquire(other.Context(), "k", Options{Wait: -1}); !errors.Is(err, ErrReentry) {
		t.Errorf("through an inner lock: %v, want ErrReentry", err)
	}
	_ = other.Release(t.Context())
	_ = h.Release(t.Context())
}

func TestContextOfAReleasedLockIsLost(t *testing.T) {
	t.Parallel()
	c := New(Local())
	h := mustAcquire(t, c, t.Context(), Options{})
	stale := context.WithoutCancel(h.Context())
	_ = h.Release(t.Context())
	if _, err := c.Acquire(stale, "k", Options{Reentrant: true}); !errors.Is(err, ErrLost) {
		t.Errorf("%v, want ErrLost", err)
	}
	if cause := context.Cause(h.Context()); !errors.Is(cause, ErrReleased) {
		t.Errorf("cause after release = %v, want ErrReleased", cause)
	}
}

func TestDoReportsALossThatItsFunctionDidNotSee(t *testing.T) {
	t.Parallel()
	c := New(Local())
	work := errors.New("work")
	err := c.Do(t.Context(), "k", Options{}, func(_ context.Context, h *Lock) error {
		_ = h.grant.lease.Release(t.Context())
		return work
	})
	if !errors.Is(err, ErrLost) || !errors.Is(err, work) {
		t.Errorf("%v, want ErrLost and the work's error", err)
	}
}

func TestDoReleasesWhenItsFunctionPanics(t *testing.T) {
	t.Parallel()
	c := New(Local())
	func() {
		defer func() { _ = recover() }()
		_ = c.Do(t.Context(), "k", Options{}, func(context.Context, *Lock) error { panic("work") })
	}()
	mustAcquire(t, c, t.Context(), Options{})
}

func TestReleaseWorksAfterItsContextEnded(t *testing.T) {
	t.Parallel()
	l := &fake{Locker: Local()}
	c := New(l)
	ctx, cancel := context.WithCancel(t.Context())
	h := mustAcquire(t, c, ctx, Options{})
	cancel()
	check.AtOnce(8, func(int) {
		if err := h.Release(ctx); err != nil {
			t.Error(err)
		}
	})
	mustAcquire(t, c, t.Context(), Options{})
}

func TestInvalidKeyOrTTLIsRefusedBeforeTheDriver(t *testing.T) {
	t.Parallel()
	c := New(nil) // a request would panic
	for _, key := range []string{"", "a b", "ключ", strings.Repeat("k", MaxKey+1)} {
		if _, err := c.Acquire(t.Context(), key, Options{}); !errors.Is(err, ErrInvalid) {
			t.Errorf("key %q: %v, want ErrInvalid", key, err)
		}
	}
	for _, ttl := range []time.Duration{-time.Second, time.Microsecond, math.MaxInt64} {
		if _, err := c.Acquire(t.Context(), "k", Options{TTL: ttl}); !errors.Is(err, ErrInvalid) {
			t.Errorf("ttl %s: %v, want ErrInvalid", ttl, err)
		}
	}
}

func TestCloseReleasesHeldLocksAndEndsWaits(t *testing.T) {
	bubble(t, func(t *testing.T) {
		l := Local()
		c := New(l)
		held := mustAcquire(t, c, t.Context(), Options{})
		ctx, waited := held.Context(), make(chan error)
		go func() {
			_, err := c.Acquire(t.Context(), "k", Options{Wait: -1})
			waited <- err
		}()
		synctest.Wait()
		c.Close()
		check.ErrorIs(t, <-waited, ErrClosed)
		<-ctx.Done()
		for what, err := range map[string]error{"Err": held.Err(), "cause": context.Cause(ctx),
			"Release": held.Release(t.Context())} {
			if !errors.Is(err, ErrClosed) {
				t.Errorf("%s = %v, want ErrClosed", what, err)
			}
		}
		if _, err := l.TryLock(t.Context(), "k", time.Second); err != nil {
			t.Errorf("another's try after Close: %v", err)
		}
	})
}

func TestReleasedReentriesLeaveNothingBehind(t *testing.T) {
	t.Parallel()
	c := New(Local())
	outer := mustAcquire(t, c, t.Context(), Options{})
	for range 1000 {
		inner := mustAcquire(t, c, outer.Context(), Options{Reentrant: true})
		_ = inner.Context()
		_ = inner.Release(t.Context())
	}
	if n := len(outer.grant.contexts); n != 1 {
		t.Errorf("%d contexts after 1000 released re-entries, want the outer one", n)
	}
	_ = outer.Release(t.Context())
}
