package zklock_test

import (
	"testing"
	"time"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lab"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/lock/locktest"
	"example.com/flashsale/internal/lock/zklock"
)

// ttl is shorter than every session timeout in these tests.
const ttl = time.Second

func open(tb testing.TB, server *lab.ZooKeeper, timeout time.Duration) *zklock.Locker {
	tb.Helper()
	l, err := zklock.Open([]string{server.Address}, timeout)
	check.NoError(tb, err)
	tb.Cleanup(l.Close)
	return l
}

func TestConformance(t *testing.T) {
	t.Parallel()
	server := labtest.SharedZooKeeper(t)
	promises := locktest.Promises{
		Exclusive: true, SpuriousRefusals: true, Fences: true, Blocks: true,
		Tick: 10 * time.Millisecond,
	}
	locktest.Run(t, promises, func(tb testing.TB) lock.Locker { return open(tb, server, time.Minute) })
}

func TestQueue(t *testing.T) {
	t.Parallel()
	server := labtest.SharedZooKeeper(t)
	conn := connect(t, server)
	lockers := [2]lock.BlockingLocker{open(t, server, time.Minute), open(t, server, time.Minute)}
	locktest.RunQueue(t, lockers, func(t *testing.T, key string) int { return len(nodes(t, conn, key)) - 1 })
}

func TestOutages(t *testing.T) {
	t.Parallel()
	server := labtest.ZooKeeper(t)
	locktest.RunOutages(t, server.Server, true, func(tb testing.TB) lock.Locker {
		return open(tb, server, time.Minute)
	})
}
