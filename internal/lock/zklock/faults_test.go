package zklock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"example.com/flashsale/internal/faultproxy"
	"example.com/flashsale/internal/lab"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/lock/zklock"
)

func mustTryLock(tb testing.TB, l lock.Locker, key string) lock.Lease {
	tb.Helper()
	lease, err := l.TryLock(tb.Context(), key, time.Minute)
	noError(tb, "TryLock", err)
	return lease
}

func noError(tb testing.TB, what string, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatalf("%s: %v", what, err)
	}
}

func wantLost(tb testing.TB, what string, err error) {
	tb.Helper()
	if !errors.Is(err, lock.ErrLost) {
		tb.Errorf("%s: %v, want ErrLost", what, err)
	}
}

func wantUnknown(tb testing.TB, what string, err error) {
	tb.Helper()
	if err == nil || errors.Is(err, lock.ErrLocked) || errors.Is(err, lock.ErrLost) {
		tb.Errorf("%s: %v, want an unknown outcome", what, err)
	}
}

func eventually(tb testing.TB, what string, condition func() bool) {
	tb.Helper()
	for end := time.Now().Add(20 * time.Second); !condition(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			tb.Fatalf("timed out waiting for %s", what)
		}
	}
}

// connect opens a plain ZooKeeper client.
func connect(tb testing.TB, server *lab.ZooKeeper) *zk.Conn {
	tb.Helper()
	conn, _, err := zk.Connect([]string{server.Address}, 10*time.Second, zk.WithLogInfo(false))
	noError(tb, "connect", err)
	tb.Cleanup(conn.Close)
	return conn
}

// nodes returns the names in a lock's directory.
func nodes(tb testing.TB, conn *zk.Conn, key string) []string {
	tb.Helper()
	names, _, err := conn.Children("/locks/=" + key)
	if err != nil && !errors.Is(err, zk.ErrNoNode) {
		tb.Fatal(err)
	}
	return names
}

// The client declares its leases lost before the server, which receives no
// pings either, can grant them to another client.
func TestSilentServerLosesTheLeaseWithinTheTimeout(t *testing.T) {
	t.Parallel()
	server := labtest.ZooKeeper(t)
	const timeout = 3 * time.Second
	l, key := open(t, server, timeout), labtest.Name(t)
	lease := mustTryLock(t, l, key)
	time.Sleep(timeout / 2) // let the client send pings
	server.Pause()
	paused := time.Now()
	<-lease.(lock.WatchedLease).Lost()
	if took := time.Since(paused); took > timeout {
		t.Errorf("lease lost %s after the last reply, want within the session timeout of %s", took, timeout)
	}
	server.Resume()
	wantLost(t, "Extend", lease.Extend(t.Context(), time.Minute))
	wantLost(t, "Release", lease.Release(t.Context()))
	eventually(t, "the session to return", func() bool {
		next, err := l.TryLock(t.Context(), key, time.Minute)
		return err == nil && next.Extend(t.Context(), time.Minute) == nil
	})
}

// A client that reconnects within the grace period keeps its leases.
func TestBriefDisconnectKeepsTheLease(t *testing.T) {
	t.Parallel()
	proxy, err := faultproxy.New("tcp", labtest.SharedZooKeeper(t).Address)
	noError(t, "proxy", err)
	defer proxy.Close()
	const timeout = 10 * time.Second
	l, err := zklock.Open([]string{proxy.Addr()}, timeout)
	noError(t, "open", err)
	defer l.Close()
	lease := mustTryLock(t, l, labtest.Name(t))
	proxy.Disconnect()
	eventually(t, "the connection to return", func() bool { return lease.Extend(t.Context(), time.Minute) == nil })
	select {
	case <-lease.(lock.WatchedLease).Lost():
		t.Error("the lease is lost, want it kept after a brief disconnect")
	case <-time.After(timeout/4 + time.Second): // longer than the grace period
	}
	noError(t, "Release", lease.Release(t.Context()))
}

// openThroughProxy opens a locker and the proxy that it is connected through.
func openThroughProxy(t *testing.T, server *lab.ZooKeeper) (*zklock.Locker, *faultproxy.Proxy) {
	t.Helper()
	proxy, err := faultproxy.New("tcp", server.Address)
	noError(t, "proxy", err)
	t.Cleanup(func() { _ = proxy.Close() })
	l, err := zklock.Open([]string{proxy.Addr()}, time.Minute)
	noError(t, "open", err)
	t.Cleanup(l.Close)
	return l, proxy
}

func TestTryLockSucceedsAfterALostReply(t *testing.T) {
	t.Parallel()
	server, key := labtest.SharedZooKeeper(t), labtest.Name(t)
	l, proxy := openThroughProxy(t, server)
	noError(t, "Release", mustTryLock(t, l, key).Release(t.Context())) // creates the directory
	proxy.Inject(faultproxy.LoseReply, "_c_", 1)
	lease := mustTryLock(t, l, key)
	if proxy.Hits() == 0 {
		t.Fatal("the proxy injected no fault")
	}
	if _, err := open(t, server, time.Minute).TryLock(t.Context(), key, time.Minute); !errors.Is(err, lock.ErrLocked) {
		t.Errorf("TryLock by another client: %v, want ErrLocked", err)
	}
	noError(t, "Release", lease.Release(t.Context()))
}

// A node whose deletion failed is deleted before its session ends.
func TestFailedReleaseDeletesTheNodeLater(t *testing.T) {
	t.Parallel()
	server, key := labtest.SharedZooKeeper(t), labtest.Name(t)
	l, proxy := openThroughProxy(t, server)
	conn := connect(t, server)
	lease := mustTryLock(t, l, key)
	proxy.Inject(faultproxy.LoseRequest, key, 1)
	wantUnknown(t, "Release", lease.Release(t.Context()))
	eventually(t, "the node to be deleted", func() bool { return len(nodes(t, conn, key)) == 0 })
}

func TestCancelledLockDeletesTheNodeLater(t *testing.T) {
	t.Parallel()
	server, key := labtest.SharedZooKeeper(t), labtest.Name(t)
	l, proxy := openThroughProxy(t, server)
	conn := connect(t, server)
	mustTryLock(t, open(t, server, time.Minute), key)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := l.Lock(ctx, key, time.Minute)
		done <- err
	}()
	eventually(t, "the waiter's node", func() bool { return len(nodes(t, conn, key)) == 2 })
	time.Sleep(50 * time.Millisecond) // let the waiter set its watch
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
	_, err := l.TryLock(short(), key+"2", time.Minute)
	wantUnknown(t, "TryLock", err)
	wantUnknown(t, "Extend", held.Extend(short(), time.Minute))
	wantUnknown(t, "Release", held.Release(short()))
	server.Resume()
	eventually(t, "the nodes to be deleted", func() bool {
		return len(nodes(t, conn, key)) == 0 && len(nodes(t, conn, key+"2")) == 0
	})
}

func TestDeadServerLeavesTheOutcomeUnknown(t *testing.T) {
	t.Parallel()
	server := labtest.ZooKeeper(t)
	l, key := open(t, server, 30*time.Second), labtest.Name(t)
	lease := mustTryLock(t, l, key)
	server.Kill()
	_, err := l.TryLock(t.Context(), labtest.Name(t), time.Minute)
	wantUnknown(t, "TryLock", err)
	wantUnknown(t, "Extend", lease.Extend(t.Context(), time.Minute))
	noError(t, "restart", server.Restart())
	eventually(t, "the session to return", func() bool { return lease.Extend(t.Context(), time.Minute) == nil })
	noError(t, "Release", lease.Release(t.Context()))
}

func TestDeletedNodeLosesTheLease(t *testing.T) {
	t.Parallel()
	server := labtest.SharedZooKeeper(t)
	conn, key := connect(t, server), labtest.Name(t)
	lease := mustTryLock(t, open(t, server, 5*time.Second), key)
	noError(t, "delete", conn.Delete("/locks/="+key+"/"+nodes(t, conn, key)[0], -1))
	wantLost(t, "Extend", lease.Extend(t.Context(), time.Minute))
	wantLost(t, "Release", lease.Release(t.Context()))
}

func TestCloseLosesAllLeases(t *testing.T) {
	t.Parallel()
	server, key := labtest.SharedZooKeeper(t), labtest.Name(t)
	l, err := zklock.Open([]string{server.Address}, 30*time.Second)
	noError(t, "open", err)
	lease := mustTryLock(t, l, key)
	l.Close()
	select {
	case <-lease.(lock.WatchedLease).Lost():
	case <-time.After(time.Second):
		t.Error("the lease is not lost after Close")
	}
	mustTryLock(t, open(t, server, 5*time.Second), key)
}

func TestEmptyDirectoryIsDeletedAndTheFenceStillRises(t *testing.T) {
	t.Parallel()
	server, key := labtest.SharedZooKeeper(t), labtest.Name(t)
	conn, l := connect(t, server), open(t, server, 5*time.Second)
	first := mustTryLock(t, l, key)
	noError(t, "Release", first.Release(t.Context()))
	eventually(t, "the directory to be deleted", func() bool {
		exists, _, err := conn.Exists("/locks/=" + key)
		return err == nil && !exists
	})
	if again := mustTryLock(t, l, key); again.Fence() <= first.Fence() {
		t.Errorf("fence %d after %d and the deletion of the directory, want a higher one", again.Fence(), first.Fence())
	}
}

func TestKeysMayLookLikePaths(t *testing.T) {
	t.Parallel()
	l := open(t, labtest.SharedZooKeeper(t), 5*time.Second)
	key := labtest.Name(t)
	for _, key := range []string{".", "..", "/", "%2F", key + "/a", key, key + "/../" + key} {
		noError(t, "Release "+key, mustTryLock(t, l, key).Release(t.Context()))
	}
	for _, key := range []string{key + "/", key + "%2F"} {
		mustTryLock(t, l, key)
	}
}
