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

func take(tb testing.TB, l lock.Locker, key string) lock.Lease {
	tb.Helper()
	lease, err := l.TryLock(tb.Context(), key, time.Minute)
	fine(tb, "TryLock", err)
	return lease
}

func fine(tb testing.TB, what string, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatalf("%s: %v", what, err)
	}
}

func lost(tb testing.TB, what string, err error) {
	tb.Helper()
	if !errors.Is(err, lock.ErrLost) {
		tb.Errorf("%s: %v, want ErrLost", what, err)
	}
}

func unknown(tb testing.TB, what string, err error) {
	tb.Helper()
	if err == nil || errors.Is(err, lock.ErrLocked) || errors.Is(err, lock.ErrLost) {
		tb.Errorf("%s: %v, want an unknown outcome", what, err)
	}
}

func soon(tb testing.TB, what string, so func() bool) {
	tb.Helper()
	for end := time.Now().Add(20 * time.Second); !so(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			tb.Fatalf("in vain: %s", what)
		}
	}
}

// tree is a plain client.
func tree(tb testing.TB, server *lab.ZooKeeper) *zk.Conn {
	tb.Helper()
	conn, _, err := zk.Connect([]string{server.Address}, 10*time.Second, zk.WithLogInfo(false))
	fine(tb, "connect", err)
	tb.Cleanup(conn.Close)
	return conn
}

// nodes are the names below a lock's directory.
func nodes(tb testing.TB, conn *zk.Conn, key string) []string {
	tb.Helper()
	names, _, err := conn.Children("/locks/=" + key)
	if err != nil && !errors.Is(err, zk.ErrNoNode) {
		tb.Fatal(err)
	}
	return names
}

// A client that hears nothing calls its leases lost before the server, which
// hears nothing either, gives them to another.
func TestSilenceIsLossInTime(t *testing.T) {
	t.Parallel()
	server := labtest.ZooKeeper(t)
	const timeout = 3 * time.Second
	l, key := open(t, server, timeout), labtest.Name(t)
	lease := take(t, l, key)
	time.Sleep(timeout / 2) // into the rhythm of pings
	server.Pause()
	paused := time.Now()
	<-lease.(lock.Watched).Lost()
	if took := time.Since(paused); took > timeout {
		t.Errorf("called lost after %s, the session's timeout is %s", took, timeout)
	}
	server.Resume()
	lost(t, "Extend", lease.Extend(t.Context(), time.Minute))
	lost(t, "Release", lease.Release(t.Context()))
	soon(t, "waited for the session's return", func() bool {
		next, err := l.TryLock(t.Context(), key, time.Minute)
		return err == nil && next.Extend(t.Context(), time.Minute) == nil
	})
}

// A line that breaks and comes back within the grace takes nothing away.
func TestInterruptionIsNotLoss(t *testing.T) {
	t.Parallel()
	line, err := faultproxy.New("tcp", labtest.SharedZooKeeper(t).Address)
	fine(t, "proxy", err)
	defer line.Close()
	const timeout = 10 * time.Second
	l, err := zklock.Open([]string{line.Addr()}, timeout)
	fine(t, "open", err)
	defer l.Close()
	lease := take(t, l, labtest.Name(t))
	line.Disconnect()
	soon(t, "waited for the line", func() bool { return lease.Extend(t.Context(), time.Minute) == nil })
	select {
	case <-lease.(lock.Watched).Lost():
		t.Error("called lost")
	case <-time.After(timeout/4 + time.Second): // longer than the grace
	}
	fine(t, "Release", lease.Release(t.Context()))
}

// through opens a locker whose line can be harmed.
func through(t *testing.T, server *lab.ZooKeeper) (*zklock.Locker, *faultproxy.Proxy) {
	t.Helper()
	line, err := faultproxy.New("tcp", server.Address)
	fine(t, "proxy", err)
	t.Cleanup(func() { _ = line.Close() })
	l, err := zklock.Open([]string{line.Addr()}, time.Minute)
	fine(t, "open", err)
	t.Cleanup(l.Close)
	return l, line
}

func TestLostReplyYieldsTheLease(t *testing.T) {
	t.Parallel()
	server, key := labtest.SharedZooKeeper(t), labtest.Name(t)
	l, line := through(t, server)
	fine(t, "Release", take(t, l, key).Release(t.Context())) // the directory is there now
	line.Inject(faultproxy.LoseReply, "_c_", 1)
	lease := take(t, l, key)
	if line.Hits() == 0 {
		t.Fatal("the fault did not strike")
	}
	if _, err := open(t, server, time.Minute).TryLock(t.Context(), key, time.Minute); !errors.Is(err, lock.ErrLocked) {
		t.Errorf("TryLock by another: %v, want ErrLocked", err)
	}
	fine(t, "Release", lease.Release(t.Context()))
}

// A node that could not be deleted at once is deleted later, and not left to
// the end of the session.
func TestFailedReleaseIsMadeGood(t *testing.T) {
	t.Parallel()
	server, key := labtest.SharedZooKeeper(t), labtest.Name(t)
	l, line := through(t, server)
	conn := tree(t, server)
	lease := take(t, l, key)
	line.Inject(faultproxy.LoseRequest, key, 1)
	unknown(t, "Release", lease.Release(t.Context()))
	soon(t, "waited for the node to go", func() bool { return len(nodes(t, conn, key)) == 0 })
}

func TestFailedGivingUpIsMadeGood(t *testing.T) {
	t.Parallel()
	server, key := labtest.SharedZooKeeper(t), labtest.Name(t)
	l, line := through(t, server)
	conn := tree(t, server)
	take(t, open(t, server, time.Minute), key)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := l.Lock(ctx, key, time.Minute)
		done <- err
	}()
	soon(t, "waited for the waiter", func() bool { return len(nodes(t, conn, key)) == 2 })
	time.Sleep(50 * time.Millisecond) // its watch is set
	line.Inject(faultproxy.LoseRequest, key, 1)
	cancel()
	if err := <-done; !errors.Is(err, lock.ErrLocked) {
		t.Errorf("Lock: %v, want ErrLocked", err)
	}
	soon(t, "waited for the node to go", func() bool { return len(nodes(t, conn, key)) == 1 })
}

// What a caller could not wait for goes away when it can, though the session
// lives on.
func TestUnknownOutcomesAreLetGo(t *testing.T) {
	t.Parallel()
	server := labtest.ZooKeeper(t)
	l, conn, key := open(t, server, 10*time.Second), tree(t, server), labtest.Name(t)
	held := take(t, l, key)
	server.Pause()
	short := func() context.Context {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		t.Cleanup(cancel)
		return ctx
	}
	_, err := l.TryLock(short(), key+"2", time.Minute)
	unknown(t, "TryLock", err)
	unknown(t, "Extend", held.Extend(short(), time.Minute))
	unknown(t, "Release", held.Release(short()))
	server.Resume()
	soon(t, "waited for the nodes to go", func() bool {
		return len(nodes(t, conn, key)) == 0 && len(nodes(t, conn, key+"2")) == 0
	})
}

func TestDeadServerIsUnknown(t *testing.T) {
	t.Parallel()
	server := labtest.ZooKeeper(t)
	l, key := open(t, server, 30*time.Second), labtest.Name(t)
	lease := take(t, l, key)
	server.Kill()
	_, err := l.TryLock(t.Context(), labtest.Name(t), time.Minute)
	unknown(t, "TryLock", err)
	unknown(t, "Extend", lease.Extend(t.Context(), time.Minute))
	fine(t, "restart", server.Restart())
	soon(t, "waited for the session's return", func() bool { return lease.Extend(t.Context(), time.Minute) == nil })
	fine(t, "Release", lease.Release(t.Context()))
}

func TestDeletedNodeIsLost(t *testing.T) {
	t.Parallel()
	server := labtest.SharedZooKeeper(t)
	conn, key := tree(t, server), labtest.Name(t)
	lease := take(t, open(t, server, 5*time.Second), key)
	fine(t, "delete", conn.Delete("/locks/="+key+"/"+nodes(t, conn, key)[0], -1))
	lost(t, "Extend", lease.Extend(t.Context(), time.Minute))
	lost(t, "Release", lease.Release(t.Context()))
}

func TestCloseEndsLeases(t *testing.T) {
	t.Parallel()
	server, key := labtest.SharedZooKeeper(t), labtest.Name(t)
	l, err := zklock.Open([]string{server.Address}, 30*time.Second)
	fine(t, "open", err)
	lease := take(t, l, key)
	l.Close()
	select {
	case <-lease.(lock.Watched).Lost():
	case <-time.After(time.Second):
		t.Error("Close did not call its leases lost")
	}
	take(t, open(t, server, 5*time.Second), key)
}

func TestDirectoriesGoAway(t *testing.T) {
	t.Parallel()
	server, key := labtest.SharedZooKeeper(t), labtest.Name(t)
	conn, l := tree(t, server), open(t, server, 5*time.Second)
	first := take(t, l, key)
	fine(t, "Release", first.Release(t.Context()))
	soon(t, "waited for the directory to go", func() bool {
		there, _, err := conn.Exists("/locks/=" + key)
		return err == nil && !there
	})
	if again := take(t, l, key); again.Fence() <= first.Fence() {
		t.Errorf("fence %d after %d, whose directory has gone", again.Fence(), first.Fence())
	}
}

func TestOddNamesAreNames(t *testing.T) {
	t.Parallel()
	l := open(t, labtest.SharedZooKeeper(t), 5*time.Second)
	key := labtest.Name(t)
	for _, key := range []string{".", "..", "/", "%2F", key + "/a", key, key + "/../" + key} {
		fine(t, "Release "+key, take(t, l, key).Release(t.Context()))
	}
	for _, key := range []string{key + "/", key + "%2F"} {
		take(t, l, key)
	}
}
