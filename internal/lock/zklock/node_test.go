package zklock_test

import (
	"context"
	"testing"
	"time"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/faultproxy"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/lock/locktest"
)

// A request whose connection is lost, or that is not replied to until the client
// has given up its connection, acquires the lock all the same, and once.
func TestTryLockSucceedsAfterALostConnection(t *testing.T) {
	t.Parallel()
	for name, fault := range faultproxy.Faults {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, key := labtest.SharedZooKeeper(t), labtest.Name(t)
			l, proxy := openThroughProxy(t, server, 4*time.Second)
			check.NoError(t, locktest.MustTryLock(t, l, key, ttl).Release(t.Context())) // creates the directory
			proxy.Inject(fault, "_c_", 1)
			lease := locktest.MustTryLock(t, l, key, ttl)
			if proxy.Hits() == 0 {
				t.Fatal("the proxy injected no fault")
			}
			if n := nodes(t, connect(t, server), key); len(n) != 1 {
				t.Errorf("nodes %v, want one", n)
			}
			check.NoError(t, lease.Release(t.Context()))
			locktest.MustTryLock(t, open(t, server, time.Minute), key, ttl)
		})
	}
}

// A release whose request or reply was lost is repeated, and reports what has
// happened to the lease.
func TestReleaseSucceedsAfterALostConnection(t *testing.T) {
	t.Parallel()
	server, key := labtest.SharedZooKeeper(t), labtest.Name(t)
	l, proxy := openThroughProxy(t, server, time.Minute)
	conn := connect(t, server)
	for _, fault := range []faultproxy.Fault{faultproxy.LoseRequest, faultproxy.LoseReply} {
		lease := locktest.MustTryLock(t, l, key, ttl)
		proxy.Inject(fault, key, 1)
		check.NoError(t, lease.Release(t.Context()))
		if proxy.Hits() == 0 {
			t.Fatal("the proxy injected no fault")
		}
		if n := nodes(t, conn, key); len(n) > 0 {
			t.Errorf("%v after Release", n)
		}
	}
}

func TestCancelledLockDeletesTheNodeLater(t *testing.T) {
	t.Parallel()
	server, key := labtest.SharedZooKeeper(t), labtest.Name(t)
	l, proxy := openThroughProxy(t, server, time.Minute)
	conn := connect(t, server)
	locktest.MustTryLock(t, open(t, server, ttl), key, ttl)
	ctx, cancel := context.WithCancel(t.Context())
	done := wait(t, ctx, l, server, key)
	proxy.Inject(faultproxy.LoseRequest, key, 1)
	cancel()
	check.ErrorIs(t, <-done, lock.ErrLocked)
	check.Eventually(t, "the node to be deleted", func() bool { return len(nodes(t, conn, key)) == 1 })
}

// A wait whose server has fallen silent ends without a verdict, even if the
// server has said before that there is a holder.
func TestSilentServerIsNotTakenForAHolder(t *testing.T) {
	t.Parallel()
	server, key := labtest.SharedZooKeeper(t), labtest.Name(t)
	l, proxy := openThroughProxy(t, server, time.Minute)
	conn := connect(t, server)
	locktest.MustTryLock(t, open(t, server, time.Minute), key, ttl)
	proxy.PartitionAfter(key)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err := l.Lock(ctx, key, ttl)
	locktest.WantUnknown(t, err)
	proxy.Heal()
	check.Eventually(t, "the first node to be deleted", func() bool { return len(nodes(t, conn, key)) == 1 })
	ctx, cancel = context.WithCancel(t.Context())
	ended := wait(t, ctx, l, server, key)
	proxy.Partition()
	cancel()
	err = <-ended
	locktest.WantUnknown(t, err)
	check.ErrorIs(t, err, context.Canceled)
}
