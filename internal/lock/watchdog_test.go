package lock

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// batcher is Local with batches, whose calls it counts.
type batcher struct {
	Locker
	calls atomic.Int64
}

func (b *batcher) ExtendAll(ctx context.Context, ttl time.Duration, leases []Lease) []error {
	b.calls.Add(1)
	errs := make([]error, len(leases))
	for i, lease := range leases {
		errs[i] = lease.Extend(ctx, ttl)
	}
	return errs
}

func TestTenThousandHeldLocksCostAHundredCalls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const locks, ttl = 10_000, 30 * time.Second
		var p policy
		l := &batcher{Locker: Local()}
		holds := make([]*Held, locks)
		for i := range holds {
			h, err := p.acquire(t.Context(), l, fmt.Sprint(i), Options{TTL: ttl})
			if err != nil {
				t.Fatal(err)
			}
			holds[i] = h
			time.Sleep(ttl / 3 / locks) // they come one by one
		}
		time.Sleep(ttl)
		l.calls.Store(0)
		const periods = 6
		time.Sleep(periods * ttl / 3)
		if n := l.calls.Load(); n > periods*110 {
			t.Errorf("%d calls in %d times a third of the ttl, want about 100 in each", n, periods)
		}
		for _, h := range holds {
			if err := h.Release(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if len(p.watchdog.holds) != 0 {
			t.Error("the watchdog keeps released holds")
		}
	})
}

func TestUncontendedHoldAllocatesLittle(t *testing.T) {
	var p policy
	l, ctx := None(), t.Context()
	allocs := testing.AllocsPerRun(1000, func() {
		h, err := p.acquire(ctx, l, "redis_lock:userId:42", Options{TTL: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		_ = h.Release(ctx)
	})
	if allocs > 9 { // two of them the hold, one the lease, the rest the release's own context
		t.Errorf("%.0f allocations for a hold, want at most 9", allocs)
	}
}
