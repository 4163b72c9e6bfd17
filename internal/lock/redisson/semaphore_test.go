package redisson_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/lock"
)

// TestSemaphoreAdmitsItsPermits to a crowd of two clients, and never more.
func TestSemaphoreAdmitsItsPermits(t *testing.T) {
	t.Parallel()
	const permits, crowd = 3, 60
	server := labtest.Redis(t)
	sem, other := client(t, server).Semaphore("s"), client(t, server).Semaphore("s")
	if set, err := sem.TrySetPermits(t.Context(), permits); err != nil || !set {
		t.Fatal(set, err)
	}
	var inside, most atomic.Int64
	var group sync.WaitGroup
	for i := range crowd {
		mine := sem
		if i%2 == 0 {
			mine = other
		}
		group.Go(func() {
			ok(t, mine.Acquire(t.Context(), 1))
			now := inside.Add(1)
			for seen := most.Load(); now > seen && !most.CompareAndSwap(seen, now); seen = most.Load() {
			}
			time.Sleep(time.Millisecond)
			inside.Add(-1)
			ok(t, mine.Release(t.Context(), 1))
		})
	}
	group.Wait()
	if n, err := sem.AvailablePermits(t.Context()); err != nil || n != permits || most.Load() > permits {
		t.Errorf("%d permits at the end, %d inside at most, %v", n, most.Load(), err)
	}
}

// TestSemaphoreCrowdCostsOneContender per client: the others stand in line.
func TestSemaphoreCrowdCostsOneContender(t *testing.T) {
	t.Parallel()
	server := labtest.Redis(t)
	c := newCounter(t, server)
	sem := client(t, server).Semaphore("s")
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	for range 500 {
		group.Go(func() {
			if err := sem.Acquire(ctx, 1); !errors.Is(err, lock.ErrLocked) || !errors.Is(err, context.Canceled) {
				t.Errorf("gave up with %v", err)
			}
		})
	}
	time.Sleep(2 * time.Second)
	if n := c.scripts(); n > 12 {
		t.Errorf("%d scripts in 2 s by a crowd that waits", n)
	}
	cancel()
	group.Wait()
}

func TestDeadHolderReturnsItsPermit(t *testing.T) {
	t.Parallel()
	server := labtest.Redis(t)
	c, other := client(t, server).PermitExpirableSemaphore(), client(t, server).PermitExpirableSemaphore()
	ok(t, c.SetPermits(t.Context(), "s", 2))
	dead := take(t, c, "s", 200*time.Millisecond)
	kept := take(t, c, "s", 200*time.Millisecond)
	refused(t, other, "s")
	ok(t, kept.Extend(t.Context(), long))
	time.Sleep(300 * time.Millisecond)
	take(t, other, "s", long)
	refused(t, other, "s")
	if err := dead.Release(t.Context()); !errors.Is(err, lock.ErrLost) {
		t.Errorf("Release of a permit whose time was up: %v, want ErrLost", err)
	}
	if err := dead.Extend(t.Context(), long); !errors.Is(err, lock.ErrLost) {
		t.Errorf("Extend of a permit whose time was up: %v, want ErrLost", err)
	}
	info, err := c.Inspect(t.Context(), "s")
	if err != nil || len(info.Holders) != 2 {
		t.Errorf("%+v, %v, want two holders", info, err)
	}
	ok(t, c.ForceUnlock(t.Context(), "s"))
	take(t, other, "s", long)
	take(t, other, "s", long)
	refused(t, other, "s")
}

func TestSetPermitsCountsTakenOnes(t *testing.T) {
	t.Parallel()
	p := client(t, labtest.Redis(t)).PermitExpirableSemaphore()
	refused(t, p, "s") // there are none yet
	ok(t, p.SetPermits(t.Context(), "s", 1))
	held := take(t, p, "s", long)
	ok(t, p.SetPermits(t.Context(), "s", 2))
	take(t, p, "s", long)
	refused(t, p, "s")
	ok(t, p.SetPermits(t.Context(), "s", 1)) // one too many is taken
	ok(t, held.Release(t.Context()))
	refused(t, p, "s")
}

func TestLatchOpensForAll(t *testing.T) {
	t.Parallel()
	server := labtest.Redis(t)
	l, other := client(t, server).CountDownLatch("l"), client(t, server).CountDownLatch("l")
	ok(t, l.Await(t.Context())) // nobody has closed it
	if set, err := l.TrySetCount(t.Context(), 2); err != nil || !set {
		t.Fatal(set, err)
	}
	if set, err := other.TrySetCount(t.Context(), 5); err != nil || set {
		t.Errorf("closed again: %t, %v", set, err)
	}
	short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := l.Await(short); !errors.Is(err, lock.ErrLocked) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("gave up with %v", err)
	}
	var group sync.WaitGroup
	for range 20 {
		group.Go(func() { ok(t, l.Await(t.Context())) })
		group.Go(func() { ok(t, other.Await(t.Context())) })
	}
	ok(t, l.CountDown(t.Context()))
	ok(t, other.CountDown(t.Context()))
	group.Wait()
}
