package redlock_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lab"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/lock/locktest"
	"example.com/flashsale/internal/lock/redislock"
	"example.com/flashsale/internal/lock/redlock"
)

func TestMain(m *testing.M) { labtest.Main(m, lab.RedisServer) }

func TestConformance(t *testing.T) {
	t.Parallel()
	f := startNodes(t)
	promises := locktest.Promises{
		Exclusive: true, Expires: true, Notifies: true, Tells: true, SpuriousRefusals: true,
		Tick: 800 * time.Millisecond, // a node has a quarter of the ttl to reply, and the machine may be busy
	}
	locktest.Run(t, promises, func(tb testing.TB) lock.Locker { return f.newLocker(tb) })
}

// fiveNodes are independent servers, and a client of each.
type fiveNodes struct {
	servers [5]*lab.Redis
	rdb     [5]redis.UniversalClient
}

func startNodes(tb testing.TB) *fiveNodes {
	tb.Helper()
	var f fiveNodes
	for i := range f.servers {
		f.servers[i] = labtest.Redis(tb)
		f.rdb[i] = labtest.Dial(tb, f.servers[i])
	}
	return &f
}

// newLocker returns a locker with connections of its own.
func (f *fiveNodes) newLocker(tb testing.TB) *redlock.Locker {
	tb.Helper()
	var nodes []lock.Locker
	for _, s := range f.servers {
		nodes = append(nodes, redislock.New(labtest.Dial(tb, s)))
	}
	return redlock.New(nodes...)
}

// lockAll returns a lease that every node has granted.
func (f *fiveNodes) lockAll(tb testing.TB) (l *redlock.Locker, key string, lease lock.Lease) {
	tb.Helper()
	l, key = f.newLocker(tb), labtest.Name(tb)
	lease = locktest.MustTryLock(tb, l, key, time.Hour)
	check.Eventually(tb, "all nodes to grant the key", func() bool { return f.countKeys(tb, key, 0, 1, 2, 3, 4) == 5 })
	return l, key, lease
}

// countKeys returns how many of servers have key.
func (f *fiveNodes) countKeys(tb testing.TB, key string, servers ...int) (n int) {
	tb.Helper()
	for _, i := range servers {
		exists, err := f.rdb[i].Exists(tb.Context(), key).Result()
		check.NoError(tb, err)
		n += int(exists)
	}
	return n
}

// flush deletes the data of servers.
func (f *fiveNodes) flush(tb testing.TB, servers ...int) {
	tb.Helper()
	for _, i := range servers {
		check.NoError(tb, f.rdb[i].FlushAll(tb.Context()).Err())
	}
}
