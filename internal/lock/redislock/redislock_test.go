package redislock_test

import (
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/lock/locktest"
	"example.com/flashsale/internal/lock/redislock"
)

func TestMain(m *testing.M) { labtest.Main(m) }

var promises = locktest.Promises{Exclusive: true, Expires: true, Notifies: true, Batches: true, Tick: 10 * time.Millisecond}

func TestConformance(t *testing.T) {
	t.Parallel()
	server := labtest.Redis(t)
	locktest.Run(t, promises, func(tb testing.TB) lock.Locker { return redislock.New(labtest.Dial(tb, server)) })
}

func TestFencedConformance(t *testing.T) {
	t.Parallel()
	server := labtest.Redis(t)
	p := promises
	p.Fences = true
	locktest.Run(t, p, func(tb testing.TB) lock.Locker { return redislock.Fenced(labtest.Dial(tb, server)) })
}

func TestBatchedConformance(t *testing.T) {
	t.Parallel()
	server := labtest.Redis(t)
	locktest.Run(t, promises, func(tb testing.TB) lock.Locker {
		return redislock.Batched(labtest.Dial(tb, server))
	})
}

// dial makes a client that gives up on a silent line soon.
func dial(tb testing.TB, hostport string) redis.UniversalClient {
	rdb := redis.NewClient(&redis.Options{
		Addr: hostport, DialTimeout: 250 * time.Millisecond, ReadTimeout: 250 * time.Millisecond, WriteTimeout: 250 * time.Millisecond,
		ContextTimeoutEnabled: true,
	})
	tb.Cleanup(func() { _ = rdb.Close() })
	return rdb
}

func TestFaults(t *testing.T) {
	t.Parallel()
	server := labtest.Redis(t)
	socket := strings.TrimPrefix(server.URL, "unix://")
	locktest.RunFaults(t, promises, true, "unix", socket, func(tb testing.TB, hostport string) lock.Locker {
		return redislock.New(dial(tb, hostport))
	})
}

func TestBatchedFaults(t *testing.T) {
	t.Parallel()
	server := labtest.Redis(t)
	socket := strings.TrimPrefix(server.URL, "unix://")
	locktest.RunFaults(t, promises, true, "unix", socket, func(tb testing.TB, hostport string) lock.Locker {
		return redislock.Batched(dial(tb, hostport))
	})
}

func TestFencedFaults(t *testing.T) {
	t.Parallel()
	server := labtest.Redis(t)
	socket := strings.TrimPrefix(server.URL, "unix://")
	p := promises
	p.Fences = true
	locktest.RunFaults(t, p, true, "unix", socket, func(tb testing.TB, hostport string) lock.Locker {
		return redislock.Fenced(dial(tb, hostport))
	})
}
