package interop

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/lock/locktest"
	"example.com/flashsale/internal/lock/zklock"
)

// zkStore has the counters in one node of ZooKeeper.
type zkStore struct{ *zk.Conn }

func (s zkStore) read(_ context.Context, name string) (counters, error) {
	text, _, err := s.Get("/counters-" + name)
	if err != nil {
		return none, err
	}
	return parseCounters(string(text))
}

func (s zkStore) write(_ context.Context, name string, c counters) error {
	_, err := s.Set("/counters-"+name, []byte(c.String()), -1)
	if errors.Is(err, zk.ErrNoNode) {
		_, err = s.Create("/counters-"+name, []byte(c.String()), 0, zk.WorldACL(zk.PermAll))
	}
	return err
}

// openZooKeeper opens a locker of the server at address.
func openZooKeeper(t *testing.T, address string, timeout time.Duration) *zklock.Locker {
	t.Helper()
	l, err := zklock.Open([]string{address}, timeout)
	check.NoError(t, err)
	t.Cleanup(l.Close)
	return l
}

// shareCurator shares Curator's InterProcessMutex.
func shareCurator(t *testing.T) {
	address := labtest.ZooKeeper(t).Address
	conn, _, err := zk.Connect([]string{address}, longTTL, zk.WithLogInfo(false))
	check.NoError(t, err)
	t.Cleanup(conn.Close)
	e := env{startJava(t, "curator", address), zkStore{conn}}
	p := primitive{
		java:   "curator",
		locker: func(t *testing.T, _ string) lock.Locker { return openZooKeeper(t, address, longTTL) },
		waiters: func(t *testing.T, name string) int {
			nodes, _, err := conn.Children("/locks/" + name)
			check.NoError(t, err)
			return len(nodes) - 1
		},
	}
	e.share(t, p)
	t.Run("SilentGoHolderIsFollowedByJava", func(t *testing.T) { e.silentGoHolder(t, address) })
	t.Run("KilledJavaHolderIsFollowedByGo", func(t *testing.T) { e.killedJavaHolder(t, address) })
}

// silentGoHolder: Java waits for a Go process that is no longer heard of, until its session ends.
func (e env) silentGoHolder(t *testing.T, address string) {
	name, th, proxy := labtest.Name(t), e.thread(t), labtest.Proxy(t, address)
	locktest.MustTryLock(t, openZooKeeper(t, proxy.Addr(), javaTimeout), name, javaTimeout)
	th.expect(t, "locked", "lock", "curator", name, 0)
	proxy.Partition()
	th.expect(t, "ok", "lock", "curator", name, 60_000)
	th.expect(t, "ok", "unlock", "curator", name)
}

// killedJavaHolder: Go waits for a Java process that is killed, until its session ends.
func (e env) killedJavaHolder(t *testing.T, address string) {
	name, l := labtest.Name(t), openZooKeeper(t, address, longTTL)
	holder := startJava(t, "curator", address)
	holder.thread(t).expect(t, "ok", "lock", "curator", name, 0)
	locktest.WantLocked(t, l, name)
	holder.Kill()
	check.NoError(t, check.Receive(t, "Go waits", locktest.Wait(t.Context(), l, name, longTTL)))
}
