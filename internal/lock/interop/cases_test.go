package interop

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/lock/locktest"
)

// javaHoldsGoWaits: Go is refused while Java holds the lock, and is notified by
// Java's unlock. Without messages, the timer of each wait would acquire half a second later on
// average: a busy machine may need as long, but not each time.
func (e env) javaHoldsGoWaits(t *testing.T, p primitive) {
	name, th := e.name(t, p), e.thread(t)
	acquire := p.acquireFunc(t, name)
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
	t *testing.T, th *javaThread, p primitive, acquire acquireFunc, name string,
) (waited time.Duration) {
	t.Helper()
	for range 5 {
		th.expect(t, "ok", "lock", p.java, name, 0)
		if _, err := acquire(t.Context(), name, lock.Options{}); !errors.Is(err, lock.ErrLocked) {
			t.Fatalf("Go's attempt while Java holds the lock: %v, want ErrLocked", err)
		}
		got := check.Begin(func() error {
			release, err := acquire(t.Context(), name, lock.Options{Wait: testTimeout})
			if err == nil {
				err = release()
			}
			return err
		})
		time.Sleep(100 * time.Millisecond) // time to begin to wait
		start := time.Now()
		th.expect(t, "ok", "unlock", p.java, name)
		check.NoError(t, <-got)
		waited += time.Since(start)
	}
	return waited
}

// goHoldsJavaWaits: Java is refused while Go holds the lock, and is notified by
// Go's release. The ttl ends much later.
func (e env) goHoldsJavaWaits(t *testing.T, p primitive) {
	name, th := e.name(t, p), e.thread(t)
	acquire := p.acquireFunc(t, name)
	for range 3 {
		release, err := acquire(t.Context(), name, lock.Options{TTL: longTTL})
		check.NoError(t, err)
		th.expect(t, "locked", "lock", p.java, name, 0)
		got := th.callAsync("lock", p.java, name, longTTL.Milliseconds())
		time.Sleep(100 * time.Millisecond)
		start := time.Now()
		check.NoError(t, release())
		wantReply(t, "Java waits", got, "ok")
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("Java acquired the lock %s after Go's release, as if not notified", took)
		}
		th.expect(t, "ok", "unlock", p.java, name)
	}
}

// bothRenew: a holder in either language keeps its lock for longer than the ttl.
func (e env) bothRenew(t *testing.T, p primitive) {
	name, th := e.name(t, p), e.thread(t)
	acquire := p.acquireFunc(t, name)
	release, err := acquire(t.Context(), name, lock.Options{TTL: 600 * time.Millisecond})
	check.NoError(t, err)
	for end := time.Now().Add(1500 * time.Millisecond); time.Now().Before(end); {
		th.expect(t, "locked", "lock", p.java, name, 0)
	}
	check.NoError(t, release())
	if p.java == "permit" {
		return // Java has no watchdog for permits
	}
	th.expect(t, "ok", "lock", p.java, name, 0)
	for end := time.Now().Add(javaTimeout * 3 / 2); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if _, err := acquire(t.Context(), name, lock.Options{}); !errors.Is(err, lock.ErrLocked) {
			t.Fatalf("Go's attempt while Java renews the lock: %v, want ErrLocked", err)
		}
	}
	th.expect(t, "ok", "unlock", p.java, name)
}

// inOrder: waiters of both languages acquire the lock in the order in which
// they joined the queue.
func (e env) inOrder(t *testing.T, p primitive) {
	const waiters = 8
	name, th := e.name(t, p), e.thread(t)
	th.expect(t, "ok", "lock", p.java, name, 0)
	order := make(chan int, waiters)
	var group sync.WaitGroup
	for i := range waiters {
		wait := e.waitInJava(t, p, name)
		if i%2 == 0 {
			wait = waitInGo(t, p, name)
		}
		group.Go(func() {
			if err := wait(func() { order <- i }); err != nil {
				t.Errorf("waiter %d: %v", i, err)
			}
		})
		check.Eventually(t, "the waiter has joined the queue", func() bool { return p.waiters(t, name) == i+1 })
	}
	time.Sleep(4 * time.Second) // longer than go_timeout in redisson's fair_queue.lua
	th.expect(t, "ok", "unlock", p.java, name)
	group.Wait()
	for i := range waiters {
		if got := <-order; got != i {
			t.Errorf("waiter %d was number %d to acquire the lock", got, i)
		}
	}
}

func waitInGo(t *testing.T, p primitive, name string) func(acquired func()) error {
	l := p.locker(t, name).(lock.BlockingLocker)
	return func(acquired func()) error {
		lease, err := l.Lock(t.Context(), name, longTTL)
		acquired()
		if err != nil {
			return err
		}
		return lease.Release(t.Context())
	}
}

func (e env) waitInJava(t *testing.T, p primitive, name string) func(acquired func()) error {
	th := e.thread(t)
	return func(acquired func()) error {
		err := th.ok("lock", p.java, name, longTTL.Milliseconds())
		acquired()
		return errors.Join(err, th.ok("unlock", p.java, name))
	}
}

type forceUnlocker interface {
	ForceUnlock(ctx context.Context, key string) error
}

// bothForceUnlock: each language can free the lock of the other, whose holder
// then gets an error.
func (e env) bothForceUnlock(t *testing.T, p primitive) {
	name := e.name(t, p)
	l, th := p.locker(t, name), e.thread(t)
	lease := locktest.MustTryLock(t, l, name, longTTL)
	th.expect(t, "true", "forceUnlock", p.java, name)
	check.ErrorIs(t, lease.Extend(t.Context(), longTTL), lock.ErrLost)
	check.ErrorIs(t, lease.Release(t.Context()), lock.ErrLost)
	th.expect(t, "ok", "lock", p.java, name, 0)
	check.NoError(t, l.(forceUnlocker).ForceUnlock(t.Context(), name))
	check.NoError(t, locktest.MustTryLock(t, l, name, longTTL).Release(t.Context()))
	// Java's fair lock reports no error for the unlock of a free lock.
	if reply, err := th.call("unlock", p.java, name); err != nil || p.java != "fair" &&
		!strings.Contains(reply, "IllegalMonitorState") {
		t.Errorf("Java's unlock after Go's ForceUnlock: %q, %v", reply, err)
	}
}
