package zklock_test

import (
	"testing"
	"time"

	"example.com/flashsale/internal/faultproxy"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/lock/zklock"
)

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
	wantLost(t, "Extend", lease.Extend(t.Context(), ttl))
	wantLost(t, "Release", lease.Release(t.Context()))
	eventually(t, "the session to return", func() bool {
		next, err := l.TryLock(t.Context(), key, ttl)
		return err == nil && next.Extend(t.Context(), ttl) == nil
	})
}

// A client that reconnects in time keeps its leases.
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
	eventually(t, "the connection to return", func() bool { return lease.Extend(t.Context(), ttl) == nil })
	select {
	case <-lease.(lock.WatchedLease).Lost():
		t.Error("the lease is lost, want it kept after a brief disconnect")
	case <-time.After(timeout/4 + time.Second): // longer than the grace period
	}
	noError(t, "Release", lease.Release(t.Context()))
}

// A server that comes back before the session timeout finds its sessions in its
// log, and no lease is given up before that.
func TestRestartOfTheServerKeepsTheLeases(t *testing.T) {
	t.Parallel()
	const timeout = 20 * time.Second
	server := labtest.ZooKeeper(t)
	l, other := open(t, server, timeout), open(t, server, timeout)
	keys, leases := make([]string, 8), make([]lock.Lease, 8)
	for i := range leases {
		keys[i] = labtest.Name(t)
		leases[i] = mustTryLock(t, l, keys[i])
	}
	server.Kill()
	time.Sleep(timeout * 3 / 10)
	noError(t, "restart", server.Restart())
	for i, lease := range leases {
		noError(t, "Extend", lease.Extend(t.Context(), ttl))
		wantLocked(t, other, keys[i])
		noError(t, "Release", lease.Release(t.Context()))
	}
}

// A waiter keeps its place while its server restarts.
func TestWaiterSurvivesARestartOfTheServer(t *testing.T) {
	t.Parallel()
	server, key := labtest.ZooKeeper(t), labtest.Name(t)
	held := mustTryLock(t, open(t, server, time.Minute), key)
	waiter := open(t, server, time.Minute)
	conn := connect(t, server)
	got := make(chan error, 1)
	go func() {
		_, err := waiter.Lock(t.Context(), key, ttl)
		got <- err
	}()
	eventually(t, "the waiter's node", func() bool { return len(nodes(t, conn, key)) == 2 })
	server.Kill()
	noError(t, "restart", server.Restart())
	noError(t, "Release", held.Release(t.Context()))
	noError(t, "Lock", <-got)
}

func TestDeletedNodeLosesTheLease(t *testing.T) {
	t.Parallel()
	server := labtest.SharedZooKeeper(t)
	conn, key := connect(t, server), labtest.Name(t)
	lease := mustTryLock(t, open(t, server, 5*time.Second), key)
	noError(t, "delete", conn.Delete("/locks/"+key+"/"+nodes(t, conn, key)[0], -1))
	wantLost(t, "Extend", lease.Extend(t.Context(), ttl))
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
