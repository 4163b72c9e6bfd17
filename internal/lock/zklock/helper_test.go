package zklock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/faultproxy"
	"example.com/flashsale/internal/lab"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/lock/locktest"
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

// wait has a locker wait behind the holder of key, and returns when it watches the holder's
// node.
func wait(t *testing.T, ctx context.Context, l *zklock.Locker, server *lab.ZooKeeper, key string) <-chan error {
	t.Helper()
	ended, conn := locktest.Wait(ctx, l, key, ttl), connect(t, server)
	check.Eventually(t, "the waiter's node", func() bool { return len(nodes(t, conn, key)) == 2 })
	check.Eventually(t, "the waiter's watch", func() bool {
		watched, err := server.Watched(t.Context(), "/locks/"+key+"/")
		check.NoError(t, err)
		return watched
	})
	return ended
}
