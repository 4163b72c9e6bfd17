package lock

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"example.com/flashsale/internal/check"
)

func TestLateReplyIsNoLease(t *testing.T) {
	t.Parallel()
	const ttl = 30 * time.Second
	for late, want := range map[time.Duration]error{time.Second: nil, safeTTL(ttl): errLate, 2 * ttl: errLate} {
		synctest.Test(t, func(t *testing.T) {
			l := &fake{Locker: Local()}
			l.reply.Store(int64(late))
			held, err := New(l).Acquire(t.Context(), "k", Options{TTL: ttl})
			if !errors.Is(err, want) {
				t.Errorf("the reply came after %s of a lease of %s: %v, want %v", late, ttl, err, want)
			}
			if err == nil {
				_ = held.Release(t.Context())
			}
			if _, err := l.Locker.TryLock(t.Context(), "k", time.Second); err != nil {
				t.Errorf("another's try after a reply that took %s: %v", late, err)
			}
		})
	}
}

func TestWaitOutlastsALateReply(t *testing.T) {
	bubble(t, func(t *testing.T) {
		l := &fake{Locker: Local()}
		l.reply.Store(int64(30 * time.Second))
		go func() {
			time.Sleep(20 * time.Second)
			l.reply.Store(0)
		}()
		h := mustAcquire(t, New(l), t.Context(), Options{TTL: 30 * time.Second, Wait: time.Minute})
		if left := time.Until(h.Deadline()); left < 29*time.Second {
			t.Errorf("the lease is safe for %s", left)
		}
		_ = h.Release(t.Context())
	})
}

// The server still has the lease when its holder has been told of the loss.
func TestReleaseAfterALossFreesTheKey(t *testing.T) {
	bubble(t, func(t *testing.T) {
		l := &fake{Locker: Local()}
		h := mustAcquire(t, New(l), t.Context(), Options{TTL: 30 * time.Second})
		l.down.Store(true)
		<-h.Done()
		l.down.Store(false)
		if _, err := l.TryLock(t.Context(), "k", time.Second); !errors.Is(err, ErrLocked) {
			t.Fatalf("another's try before the release: %v, want ErrLocked", err)
		}
		check.ErrorIs(t, h.Release(t.Context()), ErrLost)
		if _, err := l.TryLock(t.Context(), "k", time.Second); err != nil {
			t.Errorf("another's try after the release: %v", err)
		}
	})
}

func TestDeadlineIsCountedFromTheRequest(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const ttl, reply = 30 * time.Second, 4 * time.Second
		l := &fake{Locker: Local()}
		l.reply.Store(int64(reply))
		start := time.Now()
		h := mustAcquire(t, New(l), t.Context(), Options{TTL: ttl})
		if got := h.Deadline().Sub(start); got != safeTTL(ttl) {
			t.Errorf("the first deadline is %s after the request, want %s", got, safeTTL(ttl))
		}
		time.Sleep(time.Until(start.Add(ttl/3 + reply + time.Second)))
		if got := h.Deadline().Sub(start); got != ttl/3+safeTTL(ttl) {
			t.Errorf("the second deadline is %s after the first request, want %s", got, ttl/3+safeTTL(ttl))
		}
		_ = h.Release(t.Context())
	})
}

func TestLostLeaseIsNotRenewed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		l := &fake{Locker: Local()}
		var seen eventKinds
		c := New(l, WithObserver(seen.add))
		h := mustAcquire(t, c, t.Context(), Options{TTL: 30 * time.Second})
		_ = h.grant.lease.(*fakeLease).Lease.Release(t.Context())
		<-h.Done()
		time.Sleep(time.Hour)
		if n := l.extends.Load(); n != 1 {
			t.Errorf("%d extensions, want the one that found the lease lost", n)
		}
		seen.want(t, EventAcquired, EventLost)
	})
}

// The reply to the renewal comes after the release.
func TestReleaseIsTheLastEventOfALock(t *testing.T) {
	bubble(t, func(t *testing.T) {
		l := &fake{Locker: Local()}
		l.reply.Store(int64(4 * time.Second))
		var seen eventKinds
		h := mustAcquire(t, New(l, WithObserver(seen.add)), t.Context(), Options{TTL: 30 * time.Second})
		time.Sleep(9 * time.Second)
		check.NoError(t, h.Release(t.Context()))
		time.Sleep(time.Minute)
		seen.want(t, EventAcquired, EventReleased)
		if seen.held != 9*time.Second {
			t.Errorf("held for %s", seen.held)
		}
		if n := l.extends.Load(); n != 1 {
			t.Errorf("%d renewals, want the one that was under way", n)
		}
	})
}

// The last reference is gone, and the release has not yet ended the grant.
func TestReentryDuringTheLastReleaseIsRefused(t *testing.T) {
	t.Parallel()
	c := New(Local())
	h := mustAcquire(t, c, t.Context(), Options{})
	refer := func(n int) {
		h.grant.mu.Lock()
		defer h.grant.mu.Unlock()
		h.grant.references = n
	}
	refer(0) // as leave does first
	if _, err := c.Acquire(h.Context(), "k", Options{Reentrant: true}); !errors.Is(err, ErrLost) {
		t.Errorf("%v, want ErrLost", err)
	}
	refer(1)
	check.NoError(t, h.Release(t.Context()))
}

func TestReleaseWithoutAReplyIsBounded(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := mustAcquire(t, New(&fake{Locker: Local(), release: hang}), t.Context(), Options{TTL: time.Minute})
		start := time.Now()
		if err := h.Release(t.Context()); err == nil || errors.Is(err, ErrLost) {
			t.Errorf("Release = %v, want an unknown outcome", err)
		}
		if took := time.Since(start); took != releaseTimeout {
			t.Errorf("Release took %s, want %s", took, releaseTimeout)
		}
	})
}

func TestReleasedReentryIsReleasedWhileTheOuterLockIsHeld(t *testing.T) {
	t.Parallel()
	c := New(Local())
	outer := mustAcquire(t, c, t.Context(), Options{})
	for _, late := range []bool{false, true} {
		inner := mustAcquire(t, c, outer.Context(), Options{Reentrant: true})
		var ctx context.Context
		if !late {
			ctx = inner.Context()
		}
		_ = inner.Release(t.Context())
		check.ErrorIs(t, inner.Err(), ErrReleased)
		if late { // it is asked for after the release
			ctx = inner.Context()
		}
		check.ErrorIs(t, context.Cause(ctx), ErrReleased)
	}
	check.NoError(t, outer.Err())
	_ = outer.Release(t.Context())
}
