package locktest

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/flashsale/internal/lock"
)

func (s suite) kinds(t *testing.T) {
	t.Parallel()
	l := s.open(t)
	_, notifies := l.(lock.Notifier)
	_, waits := l.(lock.BlockingLocker)
	_, batches := l.(lock.BatchExtender)
	_, watches := take(t, l, key(), long).(lock.WatchedLease)
	got := Promises{Notifies: notifies, Waits: waits, Batches: batches, Watches: watches}
	want := Promises{Notifies: s.p.Notifies, Waits: s.p.Waits, Batches: s.p.Batches, Watches: s.p.Watches}
	if got != want {
		t.Errorf("it offers %+v and promises %+v", got, want)
	}
}

func (s suite) grantsAgain(t *testing.T) {
	t.Parallel()
	a, b, k := s.open(t), s.open(t), key()
	for range 3 {
		fine(t, "release", take(t, a, k, long).Release(t.Context()))
		fine(t, "release", take(t, b, k, long).Release(t.Context()))
	}
}

func (s suite) refusesSecond(t *testing.T) {
	t.Parallel()
	k := key()
	first := take(t, s.open(t), k, long)
	if !s.p.Exclusive {
		take(t, s.open(t), k, long)
		return
	}
	refused(t, s.open(t), k)
	fine(t, "release by the first", first.Release(t.Context()))
}

func (s suite) refusesSecondOfSame(t *testing.T) {
	t.Parallel()
	l, k := s.open(t), key()
	take(t, l, k, long)
	if !s.p.Exclusive {
		take(t, l, k, long)
		return
	}
	refused(t, l, k)
}

func (s suite) independent(t *testing.T) {
	t.Parallel()
	l := s.open(t)
	k := key()
	a, b := take(t, l, k, long), take(t, l, k+"2", long)
	fine(t, "release", a.Release(t.Context()))
	fine(t, "release of the other", b.Release(t.Context()))
}

func (s suite) crowd(t *testing.T) {
	t.Parallel()
	const clients, each = 4, 8
	var (
		k     = key()
		start = make(chan struct{})
		won   atomic.Int64
		group sync.WaitGroup
	)
	for range clients {
		l := s.open(t)
		for range each {
			group.Go(func() {
				<-start
				lease, err := l.TryLock(t.Context(), k, long)
				if err == nil {
					won.Add(1)
					t.Cleanup(func() { _ = lease.Release(context.Background()) })
				} else if !errors.Is(err, lock.ErrLocked) {
					t.Errorf("TryLock: %v, want ErrLocked", err)
				}
			})
		}
	}
	close(start)
	group.Wait()
	want := int64(1)
	if !s.p.Exclusive {
		want = clients * each
	}
	if won.Load() != want {
		t.Errorf("%d winners, want %d", won.Load(), want)
	}
}

func (s suite) secondRelease(t *testing.T) {
	t.Parallel()
	lease := take(t, s.open(t), key(), long)
	fine(t, "release", lease.Release(t.Context()))
	lost(t, "second release", lease.Release(t.Context()))
}

func (s suite) extendAfterRelease(t *testing.T) {
	t.Parallel()
	l, k := s.open(t), key()
	lease := take(t, l, k, long)
	fine(t, "release", lease.Release(t.Context()))
	lost(t, "extend after release", lease.Extend(t.Context(), long))
	take(t, l, k, long)
}

// expires checks both ends: not before the ttl, and soon after it.
func (s suite) expires(t *testing.T) {
	t.Parallel()
	a, b, k := s.open(t), s.open(t), key()
	start := time.Now()
	lease := take(t, a, k, s.short())
	if !s.p.Exclusive || !s.p.Expires {
		time.Sleep(s.short() + 2*s.p.Tick)
		fine(t, "extend, long after the ttl", lease.Extend(t.Context(), long))
		return
	}
	takeSoon(t, b, k, long)
	took := time.Since(start)
	if took < s.short() {
		t.Errorf("free after %s, before its ttl of %s", took, s.short())
	}
	if most := s.short() + s.p.Tick + 2*time.Second; took > most {
		t.Errorf("free after %s, with a ttl of %s", took, s.short())
	}
}

func (s suite) extends(t *testing.T) {
	t.Parallel()
	a, b, k := s.open(t), s.open(t), key()
	lease := take(t, a, k, s.short())
	fine(t, "extend", lease.Extend(t.Context(), long))
	time.Sleep(s.short() + 2*s.p.Tick)
	if s.p.Exclusive {
		refused(t, b, k)
	}
	fine(t, "release", lease.Release(t.Context()))
	take(t, b, k, long)
}

// overtaken returns a lease that has expired, and the one that came after it.
func (s suite) overtaken(t *testing.T) (late, next lock.Lease, third lock.Locker, k string) {
	t.Parallel()
	if !s.p.Exclusive || !s.p.Expires {
		t.Skip("promises no end of a lease")
	}
	k = key()
	late = take(t, s.open(t), k, s.short())
	next = takeSoon(t, s.open(t), k, long)
	return late, next, s.open(t), k
}

func (s suite) lateRelease(t *testing.T) {
	late, next, third, k := s.overtaken(t)
	lost(t, "late release", late.Release(t.Context()))
	refused(t, third, k)
	fine(t, "release by the next holder", next.Release(t.Context()))
}

func (s suite) lateExtend(t *testing.T) {
	late, next, third, k := s.overtaken(t)
	lost(t, "late extend", late.Extend(t.Context(), time.Millisecond))
	time.Sleep(10*time.Millisecond + 2*s.p.Tick)
	refused(t, third, k)
	lost(t, "late extend", late.Extend(t.Context(), 2*long))
	fine(t, "release by the next holder", next.Release(t.Context()))
	take(t, third, k, long)
}

func (s suite) cancelled(t *testing.T) {
	t.Parallel()
	a, b, k := s.open(t), s.open(t), key()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	lease, err := a.TryLock(ctx, k, long)
	if err == nil {
		t.Fatalf("TryLock with a cancelled context gave %v", lease)
	}
	if errors.Is(err, lock.ErrLocked) {
		t.Errorf("TryLock of a free key with a cancelled context: %v, which is a verdict", err)
	}
	take(t, b, k, long)
}

func (s suite) fences(t *testing.T) {
	t.Parallel()
	a, b, k := s.open(t), s.open(t), key()
	var last uint64
	for i := range 6 {
		lease := take(t, []lock.Locker{a, b}[i%2], k, long)
		switch fence := lease.Fence(); {
		case s.p.Fences && fence <= last:
			t.Errorf("fence %d after %d", fence, last)
		case !s.p.Fences && fence != 0:
			t.Errorf("fence %d, and none is promised", fence)
		default:
			last = fence
		}
		fine(t, "release", lease.Release(t.Context()))
	}
}

func (s suite) fenceStays(t *testing.T) {
	t.Parallel()
	lease := take(t, s.open(t), key(), long)
	fence := lease.Fence()
	fine(t, "extend", lease.Extend(t.Context(), long))
	if lease.Fence() != fence {
		t.Errorf("fence %d after extend, %d before", lease.Fence(), fence)
	}
}

func (s suite) extendAll(t *testing.T) {
	t.Parallel()
	l, ok := s.open(t).(lock.BatchExtender)
	if !ok {
		t.Skip("extends no batches") // kinds has compared this with the promise
	}
	const n = 250 // more than any driver sends at once
	leases, keys := make([]lock.Lease, n), make([]string, n)
	for i := range leases {
		keys[i] = key()
		leases[i] = take(t, l, keys[i], long)
	}
	gone := map[int]bool{0: true, 99: true, 100: true, n - 1: true}
	other := s.open(t)
	for i := range gone {
		fine(t, "release", leases[i].Release(t.Context()))
		take(t, other, keys[i], long)
	}
	errs := l.ExtendAll(t.Context(), s.short(), leases)
	if len(errs) != n {
		t.Fatalf("%d results for %d leases", len(errs), n)
	}
	for i, err := range errs {
		if want := gone[i]; want != errors.Is(err, lock.ErrLost) || !want && err != nil {
			t.Errorf("lease %d (released: %t): %v", i, want, err)
		}
	}
	if !s.p.Expires {
		return
	}
	takeSoon(t, other, keys[1], long) // it was set to end soon
	refused(t, l, keys[0])            // and another's was not
	if got := l.ExtendAll(t.Context(), long, nil); len(got) != 0 {
		t.Errorf("ExtendAll of nothing = %v", got)
	}
}
