package redlock_test

import (
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

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
		Tick: 400 * time.Millisecond, // a node has a quarter of the ttl to reply, and the machine may be busy
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

// countKeys returns how many of servers have key.
func (f *fiveNodes) countKeys(tb testing.TB, key string, servers ...int) (n int) {
	tb.Helper()
	for _, i := range servers {
		exists, err := f.rdb[i].Exists(tb.Context(), key).Result()
		noError(tb, "EXISTS", err)
		n += int(exists)
	}
	return n
}

// flush deletes the data of servers.
func (f *fiveNodes) flush(tb testing.TB, servers ...int) {
	tb.Helper()
	for _, i := range servers {
		noError(tb, "FLUSHALL", f.rdb[i].FlushAll(tb.Context()).Err())
	}
}

func noError(tb testing.TB, what string, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatalf("%s: %v", what, err)
	}
}

// wantUnknown checks that err leaves the outcome unknown.
func wantUnknown(tb testing.TB, what string, err error) {
	tb.Helper()
	if err == nil || errors.Is(err, lock.ErrLocked) || errors.Is(err, lock.ErrLost) {
		tb.Errorf("%s: %v, want an unknown outcome", what, err)
	}
}

func wantLost(tb testing.TB, what string, err error) {
	tb.Helper()
	if !errors.Is(err, lock.ErrLost) {
		tb.Errorf("%s: %v, want ErrLost", what, err)
	}
}

func mustTryLock(tb testing.TB, l lock.Locker, key string) lock.Lease {
	tb.Helper()
	lease, err := l.TryLock(tb.Context(), key, time.Minute)
	noError(tb, "TryLock", err)
	return lease
}

// eventually waits for a condition that redlock brings about in the background.
func eventually(tb testing.TB, what string, condition func() bool) {
	tb.Helper()
	for end := time.Now().Add(time.Minute); !condition(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			tb.Fatalf("timed out waiting for %s", what)
		}
	}
}
