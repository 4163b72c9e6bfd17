package zklock_test

import (
	"errors"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/faultproxy"
	"example.com/flashsale/internal/lab"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/lock/zklock"
)

// connect opens a plain ZooKeeper client.
func connect(tb testing.TB, server *lab.ZooKeeper) *zk.Conn {
	tb.Helper()
	conn, _, err := zk.Connect([]string{server.Address}, 10*time.Second, zk.WithLogInfo(false))
	check.NoError(tb, err)
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
	proxy := labtest.Proxy(t, server.Address)
	l, err := zklock.Open([]string{proxy.Addr()}, timeout)
	check.NoError(t, err)
	t.Cleanup(l.Close)
	return l, proxy
}

// awaitWatch waits until somebody watches a node of the key's queue: a waiter has read
// the queue then.
func awaitWatch(t *testing.T, server *lab.ZooKeeper, key string) {
	t.Helper()
	check.Eventually(t, "the waiter's watch", func() bool {
		watched, err := server.Watched(t.Context(), "/locks/"+key+"/")
		check.NoError(t, err)
		return watched
	})
}
