package locktest

import (
	"errors"
	"math"
	"sync"
	"testing"
	"time"

	"example.com/flashsale/internal/lock"
)

func (s suite) secondReleaseReturnsErrLost(t *testing.T) {
	t.Parallel()
	lease := mustTryLock(t, s.open(t), newKey(), longTTL)
	noError(t, "Release", lease.Release(t.Context()))
	wantLost(t, "second Release", lease.Release(t.Context()))
}

func (s suite) extendAfterReleaseReturnsErrLost(t *testing.T) {
	t.Parallel()
	l, key := s.open(t), newKey()
	lease := mustTryLock(t, l, key, longTTL)
	noError(t, "Release", lease.Release(t.Context()))
	wantLost(t, "Extend after Release", lease.Extend(t.Context(), longTTL))
	mustTryLock(t, l, key, longTTL)
}

// leaseExpiresAfterItsTTL checks that the lease ends not before its ttl and
// soon after it.
// The server may reply to the extension that the lease is gone, because the release
// was faster. Whichever reply comes first, the lease was released.
func (s suite) releaseBesideAnExtensionSucceeds(t *testing.T) {
	t.Parallel()
	l := s.open(t)
	batches, ok := l.(lock.BatchReleaser)
	for i := range 200 {
		lease := mustTryLock(t, l, newKey(), longTTL)
		var extension sync.WaitGroup
		extension.Go(func() { _ = lease.Extend(t.Context(), longTTL) })
		if ok && i%2 == 0 {
			noError(t, "ReleaseAll beside Extend", batches.ReleaseAll(t.Context(), []lock.Lease{lease})[0])
		} else {
			noError(t, "Release beside Extend", lease.Release(t.Context()))
		}
		extension.Wait()
	}
}

func (s suite) leaseExpiresAfterItsTTL(t *testing.T) {
	t.Parallel()
	a, b, key := s.open(t), s.open(t), newKey()
	start, ttl := time.Now(), s.shortTTL()
	lease := mustTryLock(t, a, key, ttl)
	if !s.promises.Exclusive || !s.promises.Expires {
		time.Sleep(ttl + 2*s.promises.Tick)
		noError(t, "Extend long after the ttl of a driver that promises no expiry", lease.Extend(t.Context(), longTTL))
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
	t.Parallel()
	a, b, key := s.open(t), s.open(t), newKey()
	lease := mustTryLock(t, a, key, s.shortTTL())
	noError(t, "Extend", lease.Extend(t.Context(), longTTL))
	time.Sleep(s.shortTTL() + 2*s.promises.Tick)
	if s.promises.Exclusive {
		wantLocked(t, b, key)
	}
	noError(t, "Release after the first ttl", lease.Release(t.Context()))
	mustTryLock(t, b, key, longTTL)
}

// leaseIsNotCutToTheServersUnit leaves a lease just less than a unit. A driver that
// cuts it frees the key early, and some of many rounds are fast enough to see that.
func (s suite) leaseIsNotCutToTheServersUnit(t *testing.T) {
	t.Parallel()
	if !s.promises.Exclusive || !s.promises.Expires || s.promises.Tick > 100*time.Millisecond {
		t.Skip("no key is free soon")
	}
	a, b := s.open(t), s.open(t)
	const ttl = 4*time.Millisecond - time.Nanosecond
	for i := range 100 {
		key, start := newKey(), time.Now()
		lease := mustTryLock(t, a, key, ttl)
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
	t.Parallel()
	key := newKey()
	for _, ttl := range []time.Duration{math.MaxInt64, 100 * 365 * 24 * time.Hour} {
		lease, err := s.open(t).TryLock(t.Context(), key, ttl)
		if errors.Is(err, lock.ErrInvalid) {
			continue
		}
		noError(t, "TryLock", err)
		time.Sleep(s.shortTTL() + 2*s.promises.Tick)
		if s.promises.Exclusive {
			wantLocked(t, s.open(t), key)
		}
		noError(t, "Extend", lease.Extend(t.Context(), ttl))
		noError(t, "Release", lease.Release(t.Context()))
	}
}

// expiredAndNext returns a lease that has expired, and the one that followed it.
func (s suite) expiredAndNext(t *testing.T) (expired, next lock.Lease, third lock.Locker, key string) {
	t.Parallel()
	if !s.promises.Exclusive || !s.promises.Expires {
		t.Skip("the driver promises no expiry")
	}
	key = newKey()
	expired = mustTryLock(t, s.open(t), key, s.shortTTL())
	next = eventuallyTryLock(t, s.open(t), key)
	return expired, next, s.open(t), key
}

func (s suite) lateReleaseKeepsTheNextLease(t *testing.T) {
	expired, next, third, key := s.expiredAndNext(t)
	wantLost(t, "Release of an expired lease", expired.Release(t.Context()))
	wantLocked(t, third, key)
	noError(t, "Release by the next holder", next.Release(t.Context()))
}

// lateExtendKeepsTheNextLease extends to less and to more than the next
// lease's ttl.
func (s suite) lateExtendKeepsTheNextLease(t *testing.T) {
	expired, next, third, key := s.expiredAndNext(t)
	wantLost(t, "Extend of an expired lease to 1ms", expired.Extend(t.Context(), time.Millisecond))
	time.Sleep(10*time.Millisecond + 2*s.promises.Tick)
	wantLocked(t, third, key)
	wantLost(t, "Extend of an expired lease", expired.Extend(t.Context(), 2*longTTL))
	noError(t, "Release by the next holder", next.Release(t.Context()))
	mustTryLock(t, third, key, longTTL)
}

func (s suite) fenceRisesFromLeaseToLease(t *testing.T) {
	t.Parallel()
	a, b, key := s.open(t), s.open(t), newKey()
	var last uint64
	for i := range 6 {
		lease := mustTryLock(t, []lock.Locker{a, b}[i%2], key, longTTL)
		switch fence := lease.Fence(); {
		case s.promises.Fences && fence <= last:
			t.Errorf("fence %d after %d, want a higher one", fence, last)
		case !s.promises.Fences && fence != 0:
			t.Errorf("fence %d, want 0 from a driver that promises no fence", fence)
		default:
			last = fence
		}
		noError(t, "Release", lease.Release(t.Context()))
	}
}

func (s suite) extendKeepsTheFence(t *testing.T) {
	t.Parallel()
	lease := mustTryLock(t, s.open(t), newKey(), longTTL)
	fence := lease.Fence()
	noError(t, "Extend", lease.Extend(t.Context(), longTTL))
	if lease.Fence() != fence {
		t.Errorf("Extend changed the fence from %d to %d", fence, lease.Fence())
	}
}

func (s suite) extendAllReturnsOneResultForEachLease(t *testing.T) {
	t.Parallel()
	l, ok := s.open(t).(lock.BatchExtender)
	if !ok {
		t.Skip("the driver extends no batches")
	}
	const n = 250 // more than any driver sends in one request
	leases, keys := make([]lock.Lease, n), make([]string, n)
	for i := range leases {
		keys[i] = newKey()
		leases[i] = mustTryLock(t, l, keys[i], longTTL)
	}
	released := map[int]bool{0: true, 99: true, 100: true, n - 1: true}
	other := s.open(t)
	for i := range released {
		noError(t, "Release", leases[i].Release(t.Context()))
		mustTryLock(t, other, keys[i], longTTL)
	}
	errs := l.ExtendAll(t.Context(), s.shortTTL(), leases)
	if len(errs) != n {
		t.Fatalf("ExtendAll of %d leases returned %d results", n, len(errs))
	}
	for i, err := range errs {
		if lost := released[i]; lost != errors.Is(err, lock.ErrLost) || !lost && err != nil {
			t.Errorf("ExtendAll of lease %d (released: %t): %v", i, lost, err)
		}
	}
	if got := l.ExtendAll(t.Context(), longTTL, nil); len(got) != 0 {
		t.Errorf("ExtendAll of no leases = %v, want no results", got)
	}
	if !s.promises.Expires {
		return
	}
	eventuallyTryLock(t, other, keys[1]) // lease 1 was extended to a short ttl
	wantLocked(t, other, keys[0])        // the lease that followed lease 0 was not
}

func (s suite) releaseAllReturnsOneResultForEachLease(t *testing.T) {
	t.Parallel()
	l, ok := s.open(t).(lock.BatchReleaser)
	if !ok {
		t.Skip("the driver releases no batches")
	}
	const n = 250 // more than any driver sends in one request
	leases, keys := make([]lock.Lease, n), make([]string, n)
	for i := range leases {
		keys[i] = newKey()
		leases[i] = mustTryLock(t, l, keys[i], longTTL)
	}
	other, released := s.open(t), map[int]bool{0: true, 99: true, 100: true, n - 1: true}
	for i := range released {
		noError(t, "Release", leases[i].Release(t.Context()))
		mustTryLock(t, other, keys[i], longTTL)
	}
	for _, again := range []bool{false, true} {
		errs := l.ReleaseAll(t.Context(), leases)
		if len(errs) != n {
			t.Fatalf("ReleaseAll of %d leases returned %d results", n, len(errs))
		}
		for i, err := range errs {
			if lost := again || released[i]; lost != errors.Is(err, lock.ErrLost) || !lost && err != nil {
				t.Errorf("ReleaseAll of lease %d (released before: %t): %v", i, lost, err)
			}
		}
	}
	for i, key := range keys {
		if released[i] {
			wantLocked(t, other, key) // the next lease
		} else {
			mustTryLock(t, other, key, longTTL)
		}
	}
	if got := l.ReleaseAll(t.Context(), nil); len(got) != 0 {
		t.Errorf("ReleaseAll of no leases = %v, want no results", got)
	}
}
