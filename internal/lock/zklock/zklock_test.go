package zklock_test

import (
	"testing"
	"time"

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
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(l.Close)
	return l
}

func TestConformance(t *testing.T) {
	t.Parallel()
	server := labtest.SharedZooKeeper(t)
	promises := locktest.Promises{
		Exclusive: true, SpuriousRefusals: true, Fences: true, Blocks: true, Watches: true,
		Tick: 10 * time.Millisecond,
	}
	locktest.Run(t, promises, func(tb testing.TB) lock.Locker { return open(tb, server, time.Minute) })
}
