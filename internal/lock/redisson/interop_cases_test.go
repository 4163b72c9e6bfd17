package redisson_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/lock/locktest"
)

// javaHoldsGoWaits: Go is refused while Java holds the lock, and is notified by
// Java's unlock. Without messages, the timer of each wait would acquire half a second later on
// average: a busy machine may need as long, but not each time.
func (e interopEnv) javaHoldsGoWaits(t *testing.T, p primitive) {
	name, th := e.name(t, p), e.Thread(t)
	acquire := p.acquireFunc(e.client(), name)
	var waited time.Duration
	for range 5 {
		if waited = followJava(t, th, p, acquire, name); waited < time.Second {
			return
		}
	}
	t.Errorf("Go acquired the lock %s after Java's unlock on average, as if not notified", waited/5)
}

// followJava has Go follow Java five times, and returns how long it took after Java's unlocks.
func followJava(
	t *testing.T, th *labtest.JavaThread, p primitive, acquire acquireFunc, name string,
) (waited time.Duration) {
	t.Helper()
	for range 5 {
		th.Expect(t, "ok", "lock", p.java, name, 0)
		if _, err := acquire(t.Context(), name, lock.Options{}); !errors.Is(err, lock.ErrLocked) {
			t.Fatalf("Go's attempt while Java holds the lock: %v, want ErrLocked", err)
		}
		got := make(chan error, 1)
		go func() {
			release, err := acquire(t.Context(), name, lock.Options{Wait: testTimeout})
			if err == nil {
				err = release()
			}
			got <- err
		}()
		time.Sleep(100 * time.Millisecond) // time to begin to wait
		start := time.Now()
		th.Expect(t, "ok", "unlock", p.java, name)
		check.NoError(t, <-got)
		waited += time.Since(start)
	}
	return waited
}

// goHoldsJavaWaits: Java is refused while Go holds the lock, and is notified by
// Go's release. The ttl ends much later.
func (e interopEnv) goHoldsJavaWaits(t *testing.T, p primitive) {
	name, th := e.name(t, p), e.Thread(t)
	acquire := p.acquireFunc(e.client(), name)
	for range 3 {
		release, err := acquire(t.Context(), name, lock.Options{TTL: longTTL})
		check.NoError(t, err)
		th.Expect(t, "locked", "lock", p.java, name, 0)
		got := th.CallAsync("lock", p.java, name, longTTL.Milliseconds())
		time.Sleep(100 * time.Millisecond)
		start := time.Now()
		check.NoError(t, release())
		labtest.WantReply(t, "Java waits", got, "ok")
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("Java acquired the lock %s after Go's release, as if not notified", took)
		}
		th.Expect(t, "ok", "unlock", p.java, name)
	}
}

// bothRenew: a holder in either language keeps its lock for longer than the ttl.
func (e interopEnv) bothRenew(t *testing.T, p primitive) {
	name, th := e.name(t, p), e.Thread(t)
	acquire := p.acquireFunc(e.client(), name)
	release, err := acquire(t.Context(), name, lock.Options{TTL: 600 * time.Millisecond})
	check.NoError(t, err)
	for end := time.Now().Add(1500 * time.Millisecond); time.Now().Before(end); {
		th.Expect(t, "locked", "lock", p.java, name, 0)
	}
	check.NoError(t, release())
	if p.java == "permit" {
		return // Java has no watchdog for permits
	}
	th.Expect(t, "ok", "lock", p.java, name, 0)
	for end := time.Now().Add(watchdogTimeout * 3 / 2); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if _, err := acquire(t.Context(), name, lock.Options{}); !errors.Is(err, lock.ErrLocked) {
			t.Fatalf("Go's attempt while Java renews the lock: %v, want ErrLocked", err)
		}
	}
	th.Expect(t, "ok", "unlock", p.java, name)
}

type forceUnlocker interface {
	ForceUnlock(ctx context.Context, key string) error
}

// bothForceUnlock: each language can free the lock of the other, whose holder
// then gets an error.
func (e interopEnv) bothForceUnlock(t *testing.T, p primitive) {
	c, name := e.client(), e.name(t, p)
	l := p.locker(c, name)
	th := e.Thread(t)
	lease := locktest.MustTryLock(t, l, name, longTTL)
	th.Expect(t, "true", "forceUnlock", p.java, name)
	check.ErrorIs(t, lease.Extend(t.Context(), longTTL), lock.ErrLost)
	check.ErrorIs(t, lease.Release(t.Context()), lock.ErrLost)
	th.Expect(t, "ok", "lock", p.java, name, 0)
	check.NoError(t, l.(forceUnlocker).ForceUnlock(t.Context(), name))
	check.NoError(t, locktest.MustTryLock(t, l, name, longTTL).Release(t.Context()))
	// Java's fair lock reports no error for the unlock of a free lock.
	if reply, err := th.Call("unlock", p.java, name); err != nil || p.java != "fair" &&
		!strings.Contains(reply, "IllegalMonitorState") {
		t.Errorf("Java's unlock after Go's ForceUnlock: %q, %v", reply, err)
	}
}

// latch: both languages count down and wait, whichever has set the count.
func (e interopEnv) latch(t *testing.T) {
	name := labtest.Name(t)
	th, waiter := e.Thread(t), e.Thread(t)
	l := e.client().CountDownLatch(name)
	for _, setter := range []string{"Go", "Java"} {
		if setter == "Go" {
			if set, err := l.TrySetCount(t.Context(), 2); err != nil || !set {
				t.Fatalf("TrySetCount: %t, %v, want true", set, err)
			}
		} else {
			th.Expect(t, "true", "trySetCount", "latch", name, 2)
		}
		javaDone := waiter.CallAsync("await", "latch", name, longTTL.Milliseconds())
		goDone := make(chan string, 1)
		go func() { goDone <- fmt.Sprint(l.Await(t.Context())) }()
		time.Sleep(50 * time.Millisecond)
		check.NoError(t, l.CountDown(t.Context()))
		if n, err := l.Count(t.Context()); err != nil || n != 1 {
			t.Fatalf("count %d, %v, want 1", n, err)
		}
		if setter == "Go" {
			th.Expect(t, "ok", "countDown", "latch", name)
		} else {
			check.NoError(t, l.CountDown(t.Context()))
		}
		labtest.WantReply(t, "Java's await", javaDone, "ok")
		labtest.WantReply(t, "Go's Await", goDone, "<nil>")
	}
}

// readers: readers of both languages hold the lock together and exclude the
// writers of both.
func (e interopEnv) readers(t *testing.T) {
	name, th, other, c := labtest.Name(t), e.Thread(t), e.Thread(t), e.client()
	th.Expect(t, "ok", "lock", "read", name, 0)
	read := locktest.MustTryLock(t, c.ReadLock(), name, longTTL)
	locktest.WantLocked(t, c.WriteLock(), name)
	other.Expect(t, "locked", "lock", "write", name, 0)
	th.Expect(t, "ok", "unlock", "read", name)
	other.Expect(t, "locked", "lock", "write", name, 0) // Go holds the read lock
	waiting := other.CallAsync("lock", "write", name, longTTL.Milliseconds())
	time.Sleep(50 * time.Millisecond)
	check.NoError(t, read.Release(t.Context()))
	labtest.WantReply(t, "Java's write lock", waiting, "ok")
	locktest.WantLocked(t, c.ReadLock(), name)
	other.Expect(t, "ok", "unlock", "write", name)

	write := locktest.MustTryLock(t, c.WriteLock(), name, longTTL)
	waiting = th.CallAsync("lock", "read", name, longTTL.Milliseconds())
	time.Sleep(50 * time.Millisecond)
	downgraded, err := c.WriteLock().Downgrade(t.Context(), write, longTTL)
	check.NoError(t, err)
	labtest.WantReply(t, "Java's read lock beside the downgraded Go lease", waiting, "ok")
	other.Expect(t, "locked", "lock", "write", name, 0)
	check.NoError(t, downgraded.Release(t.Context()))
	th.Expect(t, "ok", "unlock", "read", name)
	check.NoError(t, locktest.MustTryLock(t, c.WriteLock(), name, longTTL).Release(t.Context()))
}

// fences: each fence is higher than the last, also one of the other language.
func (e interopEnv) fences(t *testing.T) {
	name, th, l := labtest.Name(t), e.Thread(t), e.client().FencedLock()
	var last uint64
	for range 20 {
		lease := locktest.MustTryLock(t, l, name, longTTL)
		if lease.Fence() <= last {
			t.Fatalf("Go's fence %d after %d, want a higher one", lease.Fence(), last)
		}
		last = lease.Fence()
		check.NoError(t, lease.Release(t.Context()))
		th.Expect(t, "ok", "lock", "fenced", name, 0)
		last++ // Java increments the counter
		th.Expect(t, fmt.Sprint(last), "token", "fenced", name)
		th.Expect(t, "ok", "unlock", "fenced", name)
	}
}

// fairOrder: waiters of both languages acquire the lock in the order in which
// they joined the queue.
func (e interopEnv) fairOrder(t *testing.T) {
	const waiters = 8
	name, th, c := labtest.Name(t), e.Thread(t), e.client()
	th.Expect(t, "ok", "lock", "fair", name, 0)
	order := make(chan int, waiters)
	var group sync.WaitGroup
	for i := range waiters {
		if i%2 == 0 {
			group.Go(func() {
				lease, err := c.FairLock().Lock(t.Context(), name, longTTL)
				order <- i
				if err != nil || lease.Release(t.Context()) != nil {
					t.Errorf("waiter %d: %v", i, err)
				}
			})
		} else {
			waiter := e.Thread(t)
			group.Go(func() {
				reply, err := waiter.Call("lock", "fair", name, longTTL.Milliseconds())
				order <- i
				if released, err2 := waiter.Call("unlock", "fair", name); reply != "ok" || released != "ok" {
					t.Errorf("waiter %d: %s, %v, %s, %v", i, reply, err, released, err2)
				}
			})
		}
		check.Eventually(t, "the waiter has joined the queue", func() bool {
			queue, err := c.FairLock().Queue(t.Context(), name)
			check.NoError(t, err)
			return len(queue) == i+1
		})
	}
	time.Sleep(4 * time.Second) // longer than go_timeout in fair_queue.lua
	th.Expect(t, "ok", "unlock", "fair", name)
	group.Wait()
	for i := range waiters {
		if got := <-order; got != i {
			t.Errorf("waiter %d was number %d to acquire the lock", got, i)
		}
	}
}
