package zklock_test

import (
	"errors"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"example.com/flashsale/internal/faultproxy"
	"example.com/flashsale/internal/lab"
	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/lock/zklock"
)

func mustTryLock(tb testing.TB, l lock.Locker, key string) lock.Lease {
	tb.Helper()
	lease, err := l.TryLock(tb.Context(), key, ttl)
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

func wantLocked(tb testing.TB, l lock.Locker, key string) {
	tb.Helper()
	if _, err := l.TryLock(tb.Context(), key, ttl); !errors.Is(err, lock.ErrLocked) {
		tb.Errorf("TryLock by another client: %v, want ErrLocked", err)
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
	names, _, err := conn.Children("/locks/" + key)
	if err != nil && !errors.Is(err, zk.ErrNoNode) {
		tb.Fatal(err)
	}
	return names
}

// openThroughProxy opens a locker and the proxy that it is connected through.
func openThroughProxy(t *testing.T, server *lab.ZooKeeper, timeout time.Duration) (*zklock.Locker, *faultproxy.Proxy) {
	t.Helper()
	proxy, err := faultproxy.New("tcp", server.Address)
	noError(t, "proxy", err)
	t.Cleanup(func() { _ = proxy.Close() })
	l, err := zklock.Open([]string{proxy.Addr()}, timeout)
	noError(t, "open", err)
	t.Cleanup(l.Close)
	return l, proxy
}

// awaitWatch waits until somebody watches a node of the key's queue: a waiter has read
// the queue then.
func awaitWatch(t *testing.T, server *lab.ZooKeeper, key string) {
	t.Helper()
	eventually(t, "the waiter's watch", func() bool {
		watched, err := server.Watched(t.Context(), "/locks/"+key+"/")
		noError(t, "wchp", err)
		return watched
	})
}
