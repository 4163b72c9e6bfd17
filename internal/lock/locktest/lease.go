package locktest

import (
	"errors"
	"math"
	"sync"
	"testing"
	"time"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lock"
)

func (s suite) releasedLeaseIsLost(t *testing.T) {
	l, key := s.open(t), newKey()
	lease := MustTryLock(t, l, key, longTTL)
	check.NoError(t, lease.Release(t.Context()))
	check.ErrorIs(t, lease.Release(t.Context()), lock.ErrLost)
	check.ErrorIs(t, lease.Extend(t.Context(), longTTL), lock.ErrLost)
	MustTryLock(t, l, key, longTTL)
}

// The server may reply to the extension that the lease is gone, because the release
// was faster. Whichever reply comes first, the lease was released.
func (s suite) releaseBesideAnExtensionSucceeds(t *testing.T) {
	l := s.open(t)
	for range 200 {
		lease := MustTryLock(t, l, newKey(), longTTL)
		var extension sync.WaitGroup
		extension.Go(func() { _ = lease.Extend(t.Context(), longTTL) })
		check.NoError(t, lease.Release(t.Context()))
		extension.Wait()
	}
}

// leaseExpiresAfterItsTTL checks that the lease ends not before its ttl and
// soon after it.
func (s suite) leaseExpiresAfterItsTTL(t *testing.T) {
	a, b, key := s.open(t), s.open(t), newKey()
	start, ttl := time.Now(), s.shortTTL()
	lease := MustTryLock(t, a, key, ttl)
	if !s.promises.Exclusive || !s.promises.Expires {
		time.Sleep(ttl + s.promises.Tick)
		check.NoError(t, lease.Extend(t.Context(), longTTL))
		return
	}
	eventuallyTryLock(t, b, key)
	took := time.Since(start)
	if took < ttl {
		t.Errorf("the key was free after %s, before the ttl of %s", took, ttl)
	}
	if took > ttl+s.promises.Tick+10*time.Second {
		t.Errorf("the key was free after %s, long after the ttl of %s", took, ttl)
	}
}

func (s suite) extendedLeaseOutlivesItsFirstTTL(t *testing.T) {
	a, b, key := s.open(t), s.open(t), newKey()
	lease := MustTryLock(t, a, key, s.shortTTL())
	check.NoError(t, lease.Extend(t.Context(), longTTL))
	time.Sleep(s.shortTTL() + s.promises.Tick)
	if s.promises.Exclusive {
		WantLocked(t, b, key)
	}
	check.NoError(t, lease.Release(t.Context()))
	MustTryLock(t, b, key, longTTL)
}

// leaseIsNotCutToTheServersUnit leaves a lease just less than a unit. A driver that
// cuts it frees the key early, and some of many rounds are fast enough to see that.
func (s suite) leaseIsNotCutToTheServersUnit(t *testing.T) {
	if !s.promises.Exclusive || !s.promises.Expires || s.promises.Tick > 100*time.Millisecond {
		t.Skip("no key is free soon")
	}
	a, b := s.open(t), s.open(t)
	const ttl = 4*time.Millisecond - time.Nanosecond
	for i := range 100 {
		key, start := newKey(), time.Now()
		lease := MustTryLock(t, a, key, ttl)
		if i%2 == 1 {
			start = time.Now()
			if lease.Extend(t.Context(), ttl) != nil {
				continue // it was too late
			}
		}
		for refused := true; refused; {
			_, err := b.TryLock(t.Context(), key, longTTL)
			refused = errors.Is(err, lock.ErrLocked)
		}
		if took := time.Since(start); took < ttl {
			t.Fatalf("the key was free after %s, before the ttl of %s", took, ttl)
		}
	}
}

func (s suite) longestTTLIsKeptOrRefused(t *testing.T) {
	key := newKey()
	for _, ttl := range []time.Duration{math.MaxInt64, 100 * 365 * 24 * time.Hour} {
		l := s.open(t)
		lease, err := l.TryLock(t.Context(), key, ttl)
		if errors.Is(err, lock.ErrInvalid) {
			continue
		}
		if err != nil { // without a verdict, on a busy machine
			lease = tryUntilLocked(t, l, key, ttl, true)
		}
		time.Sleep(s.shortTTL() + s.promises.Tick)
		if s.promises.Exclusive {
			WantLocked(t, s.open(t), key)
		}
		check.NoError(t, lease.Extend(t.Context(), ttl))
		check.NoError(t, lease.Release(t.Context()))
	}
}

// expiredAndNext returns a lease that has expired, and the one that followed it.
func (s suite) expiredAndNext(t *testing.T) (expired, next lock.Lease, third lock.Locker, key string) {
	if !s.promises.Exclusive || !s.promises.Expires {
		t.Skip("the driver promises no expiry")
	}
	key = newKey()
	expired = MustTryLock(t, s.open(t), key, s.shortTTL())
	next = eventuallyTryLock(t, s.open(t), key)
	return expired, next, s.open(t), key
}

func (s suite) lateReleaseKeepsTheNextLease(t *testing.T) {
	expired, next, third, key := s.expiredAndNext(t)
	check.ErrorIs(t, expired.Release(t.Context()), lock.ErrLost)
	WantLocked(t, third, key)
	check.NoError(t, next.Release(t.Context()))
}

// lateExtendKeepsTheNextLease extends to less and to more than the next
// lease's ttl.
func (s suite) lateExtendKeepsTheNextLease(t *testing.T) {
	expired, next, third, key := s.expiredAndNext(t)
	check.ErrorIs(t, expired.Extend(t.Context(), time.Millisecond), lock.ErrLost)
	time.Sleep(10*time.Millisecond + s.promises.Tick)
	WantLocked(t, third, key)
	check.ErrorIs(t, expired.Extend(t.Context(), 2*longTTL), lock.ErrLost)
	check.NoError(t, next.Release(t.Context()))
	MustTryLock(t, third, key, longTTL)
}

func (s suite) fenceRisesFromLeaseToLease(t *testing.T) {
	a, b, key := s.open(t), s.open(t), newKey()
	var last uint64
	for i := range 6 {
		lease := MustTryLock(t, []lock.Locker{a, b}[i%2], key, longTTL)
		switch fence := lease.Fence(); {
		case s.promises.Fences && fence <= last:
			t.Errorf("fence %d after %d, want a higher one", fence, last)
		case !s.promises.Fences && fence != 0:
			t.Errorf("fence %d, want 0 from a driver that promises no fence", fence)
		default:
			last = fence
		}
		check.NoError(t, lease.Extend(t.Context(), longTTL))
		if lease.Fence() != last {
			t.Errorf("Extend changed the fence from %d to %d", last, lease.Fence())
		}
		check.NoError(t, lease.Release(t.Context()))
	}
}
