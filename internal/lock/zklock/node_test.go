package zklock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"example.com/flashsale/internal/faultproxy"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/lock"
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
			noError(t, "Release", mustTryLock(t, l, key).Release(t.Context())) // creates the directory
			proxy.Inject(fault, "_c_", 1)
			lease := mustTryLock(t, l, key)
			if proxy.Hits() == 0 {
				t.Fatal("the proxy injected no fault")
			}
			if n := nodes(t, connect(t, server), key); len(n) != 1 {
				t.Errorf("nodes %v, want one", n)
			}
			noError(t, "Release", lease.Release(t.Context()))
			mustTryLock(t, open(t, server, time.Minute), key)
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
		lease := mustTryLock(t, l, key)
		proxy.Inject(fault, key, 1)
		noError(t, "Release", lease.Release(t.Context()))
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
	mustTryLock(t, open(t, server, ttl), key)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := l.Lock(ctx, key, ttl)
		done <- err
	}()
	eventually(t, "the waiter's node", func() bool { return len(nodes(t, conn, key)) == 2 })
	awaitWatch(t, server, key)
	proxy.Inject(faultproxy.LoseRequest, key, 1)
	cancel()
	if err := <-done; !errors.Is(err, lock.ErrLocked) {
		t.Errorf("Lock: %v, want ErrLocked", err)
	}
	eventually(t, "the node to be deleted", func() bool { return len(nodes(t, conn, key)) == 1 })
}

// Nodes of requests that timed out are deleted when the server responds again,
// although the session lives on.
func TestUnknownOutcomesLeaveNoNodes(t *testing.T) {
	t.Parallel()
	server := labtest.ZooKeeper(t)
	l, conn, key := open(t, server, 10*time.Second), connect(t, server), labtest.Name(t)
	held := mustTryLock(t, l, key)
	server.Pause()
	short := func() context.Context {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		t.Cleanup(cancel)
		return ctx
	}
	_, err := l.TryLock(short(), key+"2", ttl)
	wantUnknown(t, "TryLock", err)
	wantUnknown(t, "Extend", held.Extend(short(), ttl))
	wantUnknown(t, "Release", held.Release(short()))
	server.Resume()
	eventually(t, "the nodes to be deleted", func() bool {
		return len(nodes(t, conn, key)) == 0 && len(nodes(t, conn, key+"2")) == 0
	})
}

// A wait whose server has fallen silent ends without a verdict, even if the
// server has said before that there is a holder.
func TestSilentServerIsNotTakenForAHolder(t *testing.T) {
	t.Parallel()
	server, key := labtest.SharedZooKeeper(t), labtest.Name(t)
	l, proxy := openThroughProxy(t, server, time.Minute)
	conn := connect(t, server)
	mustTryLock(t, open(t, server, time.Minute), key)
	proxy.PartitionAfter(key)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err := l.Lock(ctx, key, ttl)
	wantUnknown(t, "Lock without a reply", err)
	proxy.Heal()
	eventually(t, "the first node to be deleted", func() bool { return len(nodes(t, conn, key)) == 1 })
	ctx, cancel = context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := l.Lock(ctx, key, ttl)
		ended <- err
	}()
	eventually(t, "the waiter's node", func() bool { return len(nodes(t, conn, key)) == 2 })
	awaitWatch(t, server, key)
	proxy.Partition()
	cancel()
	err = <-ended
	wantUnknown(t, "Lock whose server fell silent", err)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Lock: %v, want the cause of the context", err)
	}
}
