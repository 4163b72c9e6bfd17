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

func TestMain(m *testing.M) { labtest.Main(m) }

func TestConformance(t *testing.T) {
	t.Parallel()
	f := start(t)
	promises := locktest.Promises{
		Exclusive: true, Expires: true, Notifies: true, SpuriousRefusals: true,
		Tick: 400 * time.Millisecond, // a node has a quarter of the ttl to answer, and this machine may be busy
	}
	locktest.Run(t, promises, func(tb testing.TB) lock.Locker { return f.lock(tb) })
}

// five are independent servers, and a client of each.
type five struct {
	servers [5]*lab.Redis
	rdb     [5]redis.UniversalClient
}

func start(tb testing.TB) *five {
	tb.Helper()
	var f five
	for i := range f.servers {
		f.servers[i] = labtest.Redis(tb)
		f.rdb[i] = labtest.Dial(tb, f.servers[i])
	}
	return &f
}

// lock is a redlock with connections of its own.
func (f *five) lock(tb testing.TB) *redlock.Locker {
	tb.Helper()
	var nodes []lock.Locker
	for _, s := range f.servers {
		nodes = append(nodes, redislock.New(labtest.Dial(tb, s)))
	}
	return redlock.New(nodes...)
}

// on counts those of servers that have key.
func (f *five) on(tb testing.TB, key string, servers ...int) (n int) {
	tb.Helper()
	for _, i := range servers {
		there, err := f.rdb[i].Exists(tb.Context(), key).Result()
		fine(tb, "exists", err)
		n += int(there)
	}
	return n
}

// forget makes servers lose their data.
func (f *five) forget(tb testing.TB, servers ...int) {
	tb.Helper()
	for _, i := range servers {
		fine(tb, "forget", f.rdb[i].FlushAll(tb.Context()).Err())
	}
}

func fine(tb testing.TB, what string, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatalf("%s: %v", what, err)
	}
}

// unknown checks that err is neither success nor a verdict.
func unknown(tb testing.TB, what string, err error) {
	tb.Helper()
	if err == nil || errors.Is(err, lock.ErrLocked) || errors.Is(err, lock.ErrLost) {
		tb.Errorf("%s: %v, want an unknown outcome", what, err)
	}
}

func lost(tb testing.TB, what string, err error) {
	tb.Helper()
	if !errors.Is(err, lock.ErrLost) {
		tb.Errorf("%s: %v, want ErrLost", what, err)
	}
}

func take(tb testing.TB, l lock.Locker, key string) lock.Lease {
	tb.Helper()
	lease, err := l.TryLock(tb.Context(), key, time.Minute)
	fine(tb, "TryLock", err)
	return lease
}

// soon waits until it is so; what redlock leaves to the background has an end.
func soon(tb testing.TB, what string, so func() bool) {
	tb.Helper()
	for end := time.Now().Add(10 * time.Second); !so(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			tb.Fatalf("in vain: %s", what)
		}
	}
}
