package redislock_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/flashsale/internal/faultproxy"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/lock/redislock"
)

const (
	// hangTimeout is the time-out of the waiters' client. Whatever waits for a
	// connection that hangs, waits for longer than late.
	hangTimeout = 30 * time.Second
	late        = 5 * time.Second
)

// The connections of the pool work. Those that the waiters need for their
// notifications hang: all new ones, or the one that is already open.
func TestHangingSubscriptionDelaysNeitherAcquireNorRelease(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(redis.UniversalClient) *redislock.Locker{"New": redislock.New,
		"Batched": redislock.Batched} {
		t.Run(name+"/NewConnections", func(t *testing.T) {
			t.Parallel()
			w := newWaiters(t, open)
			w.proxy.Inject(faultproxy.HangRequest, "hello", faultproxy.Always)
			w.checkAcquireAndRelease(t)
		})
		t.Run(name+"/OpenConnection", func(t *testing.T) {
			t.Parallel()
			w := newWaiters(t, open)
			mustNotify(t, w.locker, "first")
			w.proxy.Inject(faultproxy.HangReply, "subscribe", faultproxy.Always)
			w.checkAcquireAndRelease(t)
		})
	}
}

// No connection works. After the end of its context or its wait Acquire only
// tries to release what it may have got, for half a second.
func TestHangingServerDelaysAcquireBeyondNoLimit(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(redis.UniversalClient) *redislock.Locker{"New": redislock.New,
		"Batched": redislock.Batched} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const timeout = 500 * time.Millisecond
			w := newWaiters(t, open)
			mustNotify(t, w.locker, "first")
			w.proxy.Partition()
			c := lock.New(w.locker)
			ctx, cancel := context.WithTimeout(t.Context(), timeout)
			defer cancel()
			start := time.Now()
			var group sync.WaitGroup
			for i := range waiterCount {
				group.Go(func() {
					ctx, wait := ctx, time.Duration(-1)
					if i%2 == 0 {
						ctx, wait = t.Context(), timeout
					}
					_, err := c.Acquire(ctx, fmt.Sprint("other", i), lock.Options{Wait: wait})
					if d := time.Since(start); err == nil || d > timeout+late {
						t.Errorf("Acquire returned %v after %s, want an error within %s", err, d, timeout+late)
					}
				})
			}
			group.Wait()
		})
	}
}

// waiters wait for keys that another client holds.
type waiters struct {
	locker *redislock.Locker
	proxy  *faultproxy.Proxy
	own    []lock.Lease // of other keys
}

const waiterCount = 8

func newWaiters(t *testing.T, open func(redis.UniversalClient) *redislock.Locker) waiters {
	t.Helper()
	server := labtest.Redis(t)
	proxy, err := faultproxy.New("unix", socketPath(server))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = proxy.Close() })
	rdb := redis.NewClient(&redis.Options{
		Addr: proxy.Addr(), PoolSize: 64, ContextTimeoutEnabled: true,
		DialTimeout: hangTimeout, ReadTimeout: hangTimeout, WriteTimeout: hangTimeout,
	})
	t.Cleanup(func() { _ = rdb.Close() })
	fillPool(t, rdb)
	w := waiters{locker: open(rdb), proxy: proxy}
	for i := range waiterCount {
		mustTryLock(t, redislock.New(labtest.Dial(t, server)), fmt.Sprint("other", i))
		w.own = append(w.own, mustTryLock(t, w.locker, fmt.Sprint("own", i)))
	}
	return w
}

// fillPool opens connections for all waiters.
func fillPool(t *testing.T, rdb *redis.Client) {
	t.Helper()
	for range 4 * waiterCount {
		conn := rdb.Conn()
		defer conn.Close()
		if err := conn.Ping(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
	}
}

func (w waiters) checkAcquireAndRelease(t *testing.T) {
	t.Helper()
	const wait = 5 * time.Second
	c := lock.New(w.locker)
	var group sync.WaitGroup
	for i := range waiterCount {
		group.Go(func() {
			start := time.Now()
			_, err := c.Acquire(t.Context(), fmt.Sprint("other", i), lock.Options{Wait: wait})
			if d := time.Since(start); !errors.Is(err, lock.ErrLocked) || d > wait+late {
				t.Errorf("Acquire with a wait of %s returned %v after %s, want ErrLocked within %s", wait, err,
					d, wait+late)
			}
		})
	}
	labtest.Eventually(t, "a connection hangs", func() bool { return w.proxy.Hits() > 0 })
	for _, lease := range w.own {
		group.Go(func() {
			start := time.Now()
			err := lease.Release(t.Context())
			if d := time.Since(start); err != nil || d > late {
				t.Errorf("Release returned %v after %s, want nil within %s", err, d, late)
			}
		})
	}
	group.Wait()
}

func mustTryLock(t *testing.T, l lock.Locker, key string) lock.Lease {
	t.Helper()
	lease, err := l.TryLock(t.Context(), key, time.Minute)
	if err != nil {
		t.Fatalf("TryLock of a free key: %v", err)
	}
	return lease
}

// mustNotify calls Notify and returns after the notification that confirms the
// subscription.
func mustNotify(t *testing.T, l lock.Notifier, key string) (wake chan struct{}) {
	t.Helper()
	wake = make(chan struct{}, 1)
	stop, err := l.Notify(key, wake)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	mustReceive(t, wake, "when Notify began to listen")
	return wake
}

func mustReceive(t *testing.T, wake <-chan struct{}, when string) {
	t.Helper()
	select {
	case <-wake:
	case <-time.After(20 * time.Second):
		t.Fatalf("no notification %s", when)
	}
}
