package redisson_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lab"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/lock/locktest"
	"example.com/flashsale/internal/lock/redisson"
	"example.com/flashsale/internal/lock/redlock"
)

// An acquireFunc acquires one of Redisson's primitives.
type acquireFunc func(ctx context.Context, name string, o lock.Options) (release func() error, err error)

// acquireByClient returns an acquireFunc that uses a lock.Client of l.
func acquireByClient(l lock.Locker) acquireFunc {
	client := lock.New(l)
	return func(ctx context.Context, name string, o lock.Options) (func() error, error) {
		acquired, err := client.Acquire(ctx, name, o)
		if err != nil {
			return nil, err
		}
		return func() error { return acquired.Release(context.Background()) }, nil
	}
}

// A primitive is a lock or semaphore of Redisson.
type primitive struct {
	java      string                                            // its type in Interop.java
	forcible  bool                                              // whether it has forceUnlock
	locker    func(c *redisson.Client, name string) lock.Locker // nil for an RSemaphore
	handovers int                                               // that make a test; 0 means minHandovers
}

var primitives = []primitive{
	{java: "lock", forcible: true, locker: rlock},
	{java: "fair", forcible: true, locker: func(c *redisson.Client, _ string) lock.Locker { return c.FairLock() }},
	{java: "fenced", forcible: true, locker: func(c *redisson.Client, _ string) lock.Locker { return c.FencedLock() }},
	{java: "write", forcible: true, locker: func(c *redisson.Client, _ string) lock.Locker { return c.WriteLock() }},
	{java: "multi", locker: func(c *redisson.Client, name string) lock.Locker {
		return redisson.NewMultiLock(redisson.Part{Locker: c.Lock(), Key: name + ":1"},
			redisson.Part{Locker: c.Lock(), Key: name + ":2"})
	}},
	{java: "permit", locker: func(c *redisson.Client, _ string) lock.Locker { return c.PermitExpirableSemaphore() }},
	{java: "semaphore"},
}

func rlock(c *redisson.Client, _ string) lock.Locker { return c.Lock() }

func (p primitive) acquireFunc(c *redisson.Client, name string) acquireFunc {
	if p.locker != nil {
		return acquireByClient(p.locker(c, name))
	}
	return func(ctx context.Context, name string, o lock.Options) (func() error, error) {
		s := c.Semaphore(name)
		if o.Wait == 0 {
			if err := s.TryAcquire(ctx, 1); err != nil {
				return nil, err
			}
		} else if err := s.Acquire(ctx, 1); err != nil {
			return nil, err
		}
		return func() error { return s.Release(context.Background(), 1) }, nil
	}
}

// watchdogTimeout is Redisson's lockWatchdogTimeout: the ttl that Java renews.
const watchdogTimeout = 3 * time.Second

// An interopEnv is one Redis with a Java client and a Go client.
type interopEnv struct {
	*labtest.Java
	rdb redis.UniversalClient
}

// TestInterop shares every primitive between the real Redisson and this package,
// in both directions. `make interop` runs it.
func TestInterop(t *testing.T) {
	labtest.NeedInterop(t)
	server := startServers(t, 1)[0]
	e := interopEnv{startJava(t, "servers", server), labtest.Dial(t, server)}
	t.Run("all", func(t *testing.T) {
		for _, p := range primitives {
			t.Run(p.java, func(t *testing.T) { t.Parallel(); e.share(t, p) })
		}
		t.Run("latch", func(t *testing.T) { t.Parallel(); e.latch(t) })
		t.Run("readers", func(t *testing.T) { t.Parallel(); e.readers(t) })
		t.Run("fences", func(t *testing.T) { t.Parallel(); e.fences(t) })
		t.Run("fairOrder", func(t *testing.T) { t.Parallel(); e.fairOrder(t) })
	})
	t.Run("cluster", shareInCluster)
	t.Run("redlock", shareRedlock)
}

// startJava starts Interop.java in a mode, with the addresses of servers.
func startJava(t *testing.T, mode string, servers ...*lab.Redis) *labtest.Java {
	t.Helper()
	var urls []string
	for _, server := range servers {
		urls = append(urls, "redis://"+server.Address)
	}
	timeout := fmt.Sprint(watchdogTimeout.Milliseconds())
	return labtest.StartJava(t, "testdata/interop", mode, strings.Join(urls, ","), "port", timeout)
}

func startServers(t *testing.T, n int) []*lab.Redis {
	t.Helper()
	servers := make([]*lab.Redis, n)
	for i := range servers {
		var err error
		servers[i], err = lab.StartRedisTCP(labtest.Lab(t))
		check.NoError(t, err)
		t.Cleanup(servers[i].Kill)
	}
	return servers
}

// share shares p between the languages.
func (e interopEnv) share(t *testing.T, p primitive) {
	t.Run("JavaHoldsGoWaits", func(t *testing.T) { e.javaHoldsGoWaits(t, p) })
	t.Run("GoHoldsJavaWaits", func(t *testing.T) { e.goHoldsJavaWaits(t, p) })
	t.Run("Handover", func(t *testing.T) { e.handover(t, p) })
	if p.locker != nil { // a semaphore has no ttl
		t.Run("BothRenew", func(t *testing.T) { e.bothRenew(t, p) })
	}
	if p.forcible {
		t.Run("BothForceUnlock", func(t *testing.T) { e.bothForceUnlock(t, p) })
	}
}

// shareInCluster shares Redisson's RLock in a Redis Cluster of three masters. The
// names are in slots of all of them.
func shareInCluster(t *testing.T) {
	cluster := labtest.Topology(t, "cluster")
	e := interopEnv{startJava(t, "cluster", cluster.Nodes...), labtest.DialURL(t, cluster.URL)}
	e.share(t, primitive{java: "lock", forcible: true, locker: rlock, handovers: 400})
}

// shareRedlock shares Java's RedissonRedLock with a redlock.Locker over Redisson's
// RLock on the same three servers. One of them is killed in the middle.
func shareRedlock(t *testing.T) {
	servers := startServers(t, 3)
	e := interopEnv{startJava(t, "servers", servers...), labtest.Dial(t, servers[0])}
	redLock := func(*redisson.Client, string) lock.Locker {
		var nodes []lock.Locker
		for _, server := range servers {
			nodes = append(nodes, redisson.New(labtest.Dial(t, server)).Lock())
		}
		return redlock.New(nodes...)
	}
	p := primitive{java: "redlock", locker: redLock, handovers: 100}
	e.share(t, p)
	servers[2].Kill() // the majority is left; each request of Java takes 5 s now
	t.Run("WithoutOneServer", func(t *testing.T) { e.excludeEachOther(t, p) })
}

// excludeEachOther has each language hold the lock while the other tries.
func (e interopEnv) excludeEachOther(t *testing.T, p primitive) {
	name, th, l := e.name(t, p), e.Thread(t), p.locker(nil, "")
	th.Expect(t, "ok", "lock", p.java, name, 0)
	locktest.WantLocked(t, l, name)
	th.Expect(t, "ok", "unlock", p.java, name)
	lease := locktest.MustTryLock(t, l, name, longTTL)
	th.Expect(t, "locked", "lock", p.java, name, 0)
	check.NoError(t, lease.Release(t.Context()))
	th.Expect(t, "ok", "lock", p.java, name, 0)
	th.Expect(t, "ok", "unlock", p.java, name)
}

// name returns a new name for p. A semaphore with this name has one permit.
func (e interopEnv) name(t *testing.T, p primitive) string {
	t.Helper()
	name := labtest.Name(t)
	if p.java == "semaphore" || p.java == "permit" {
		e.Thread(t).Expect(t, "true", "trySetPermits", p.java, name, 1)
	}
	return name
}

func (e interopEnv) client() *redisson.Client { return redisson.New(e.rdb) }
