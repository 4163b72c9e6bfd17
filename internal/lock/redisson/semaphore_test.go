package redisson_test

import (
	"context"
	"errors"
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/lock/locktest"
	"example.com/flashsale/internal/lock/redisson"
)

// A negative number would make permits, and one beyond Java's int none that Java reads.
func TestNumbersThatJavaRefusesAreInvalid(t *testing.T) {
	t.Parallel()
	c := newClient(t, labtest.Redis(t))
	s, permits, latch := c.Semaphore("s"), c.PermitExpirableSemaphore(), c.CountDownLatch("l")
	check.NoError(t, s.Release(t.Context(), 1))
	for _, n := range []int{-5, -1, math.MinInt, math.MaxInt32 + 1, math.MaxInt} {
		_, setPermits := s.TrySetPermits(t.Context(), n)
		_, setCount := latch.TrySetCount(t.Context(), n)
		for what, err := range map[string]error{
			"TryAcquire": s.TryAcquire(t.Context(), n), "Acquire": s.Acquire(t.Context(), n),
			"Release": s.Release(t.Context(), n), "TrySetPermits": setPermits, "TrySetCount": setCount,
			"SetPermits": permits.SetPermits(t.Context(), "p", n),
		} {
			if !errors.Is(err, lock.ErrInvalid) {
				t.Errorf("%s of %d: %v, want ErrInvalid", what, n, err)
			}
		}
	}
	if n, err := s.AvailablePermits(t.Context()); n != 1 || err != nil {
		t.Errorf("%d permits, %v, want the one of before", n, err)
	}
	check.NoError(t, s.TryAcquire(t.Context(), 0))
	check.NoError(t, s.AddPermits(t.Context(), -2))
}

func TestSemaphoreHasNeverMoreHoldersThanPermits(t *testing.T) {
	t.Parallel()
	const permits, goroutines = 3, 60
	server := labtest.Redis(t)
	semaphores := []redisson.RSemaphore{newClient(t, server).Semaphore("s"), newClient(t, server).Semaphore("s")}
	if set, err := semaphores[0].TrySetPermits(t.Context(), permits); err != nil || !set {
		t.Fatal(set, err)
	}
	var holders, maxHolders atomic.Int64
	check.AtOnce(goroutines, func(i int) {
		sem := semaphores[i%2]
		check.NoError(t, sem.Acquire(t.Context(), 1))
		n := holders.Add(1)
		for old := maxHolders.Load(); n > old && !maxHolders.CompareAndSwap(old, n); old = maxHolders.Load() {
		}
		time.Sleep(time.Millisecond)
		holders.Add(-1)
		check.NoError(t, sem.Release(t.Context(), 1))
	})
	n, err := semaphores[0].AvailablePermits(t.Context())
	if err != nil || n != permits || maxHolders.Load() > permits {
		t.Errorf("%d free permits at the end, at most %d holders, %v, want %d", n, maxHolders.Load(), err, permits)
	}
}

func TestExpiredPermitIsReturned(t *testing.T) {
	t.Parallel()
	server := labtest.Redis(t)
	sem, other := newClient(t, server).PermitExpirableSemaphore(), newClient(t, server).PermitExpirableSemaphore()
	check.NoError(t, sem.SetPermits(t.Context(), "s", 2))
	expired := locktest.MustTryLock(t, sem, "s", 2*time.Second)
	extended := locktest.MustTryLock(t, sem, "s", 2*time.Second)
	locktest.WantLocked(t, other, "s")
	check.NoError(t, extended.Extend(t.Context(), longTTL))
	time.Sleep(2100 * time.Millisecond)
	locktest.MustTryLock(t, other, "s", longTTL)
	locktest.WantLocked(t, other, "s")
	check.ErrorIs(t, expired.Release(t.Context()), lock.ErrLost)
	check.ErrorIs(t, expired.Extend(t.Context(), longTTL), lock.ErrLost)
	info, err := sem.Inspect(t.Context(), "s")
	if err != nil || len(info.Holders) != 2 {
		t.Errorf("%+v, %v, want two holders", info, err)
	}
	check.NoError(t, sem.ForceUnlock(t.Context(), "s"))
	locktest.MustTryLock(t, other, "s", longTTL)
	locktest.MustTryLock(t, other, "s", longTTL)
	locktest.WantLocked(t, other, "s")
}

func TestSetPermitsCountsAcquiredPermits(t *testing.T) {
	t.Parallel()
	sem := newClient(t, labtest.Redis(t)).PermitExpirableSemaphore()
	locktest.WantLocked(t, sem, "s") // no permits yet
	check.NoError(t, sem.SetPermits(t.Context(), "s", 1))
	permit := locktest.MustTryLock(t, sem, "s", longTTL)
	check.NoError(t, sem.SetPermits(t.Context(), "s", 2))
	locktest.MustTryLock(t, sem, "s", longTTL)
	locktest.WantLocked(t, sem, "s")
	check.NoError(t, sem.SetPermits(t.Context(), "s", 1)) // two are acquired
	check.NoError(t, permit.Release(t.Context()))
	locktest.WantLocked(t, sem, "s")
}

func TestLatchAwaitsZeroInEveryClient(t *testing.T) {
	t.Parallel()
	server := labtest.Redis(t)
	latch, other := newClient(t, server).CountDownLatch("l"), newClient(t, server).CountDownLatch("l")
	check.NoError(t, latch.Await(t.Context())) // the count is zero
	if set, err := latch.TrySetCount(t.Context(), 2); err != nil || !set {
		t.Fatal(set, err)
	}
	if set, err := other.TrySetCount(t.Context(), 5); err != nil || set {
		t.Errorf("TrySetCount of a count that is not zero: %t, %v, want false", set, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	if err := latch.Await(ctx); !errors.Is(err, lock.ErrLocked) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Await after the deadline: %v, want ErrLocked and DeadlineExceeded", err)
	}
	var group sync.WaitGroup
	for range 20 {
		group.Go(func() { check.NoError(t, latch.Await(t.Context())) })
		group.Go(func() { check.NoError(t, other.Await(t.Context())) })
	}
	check.NoError(t, latch.CountDown(t.Context()))
	check.NoError(t, other.CountDown(t.Context()))
	group.Wait()
}
