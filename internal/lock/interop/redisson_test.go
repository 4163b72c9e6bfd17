package interop

import (
	"context"
	"fmt"
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

// redisStore has two copies of the counters. A holder writes them by two commands, so that two
// holders at a time may leave different copies.
type redisStore struct{ redis.UniversalClient }

func (s redisStore) read(ctx context.Context, name string) (counters, error) {
	return s.copy(ctx, name+":protected")
}

func (s redisStore) copy(ctx context.Context, key string) (counters, error) {
	text, err := s.Get(ctx, key).Result()
	if err != nil {
		return none, err
	}
	return parseCounters(text)
}

func (s redisStore) write(ctx context.Context, name string, c counters) error {
	if err := s.Set(ctx, name+":protected", c.String(), 0).Err(); err != nil {
		return err
	}
	return s.Set(ctx, name+":copy", c.String(), 0).Err()
}

// A redissonEnv is one Redis, or a cluster, with a Java client and a Go client.
type redissonEnv struct {
	env
	rdb redis.UniversalClient
}

func newRedissonEnv(t *testing.T, mode, url string, servers ...*lab.Redis) redissonEnv {
	t.Helper()
	var urls []string
	for _, server := range servers {
		urls = append(urls, "redis://"+server.Address)
	}
	rdb := labtest.DialURL(t, url)
	return redissonEnv{env{startJava(t, mode, urls...), redisStore{rdb}}, rdb}
}

func (e redissonEnv) client() *redisson.Client { return redisson.New(e.rdb) }

// of returns a primitive whose lockers are new ones.
func (e redissonEnv) of(java string, forcible bool, open func(*redisson.Client) lock.Locker) primitive {
	return primitive{java: java, forcible: forcible,
		locker: func(*testing.T, string) lock.Locker { return open(e.client()) }}
}

func (e redissonEnv) lock() primitive {
	return e.of("lock", true, func(c *redisson.Client) lock.Locker { return c.Lock() })
}

func (e redissonEnv) primitives() []primitive {
	fair := e.of("fair", true, func(c *redisson.Client) lock.Locker { return c.FairLock() })
	fair.waiters = func(t *testing.T, name string) int {
		queue, err := e.client().FairLock().Queue(t.Context(), name)
		check.NoError(t, err)
		return len(queue)
	}
	multi := primitive{java: "multi", locker: func(_ *testing.T, name string) lock.Locker {
		l := e.client().Lock()
		return redisson.NewMultiLock(redisson.Part{Locker: l, Key: name + ":1"},
			redisson.Part{Locker: l, Key: name + ":2"})
	}}
	return []primitive{
		e.lock(), fair, multi,
		e.of("fenced", true, func(c *redisson.Client) lock.Locker { return c.FencedLock() }),
		e.of("write", true, func(c *redisson.Client) lock.Locker { return c.WriteLock() }),
		e.of("permit", false, func(c *redisson.Client) lock.Locker { return c.PermitExpirableSemaphore() }),
		{java: "semaphore", acquire: e.acquireSemaphore},
	}
}

func (e redissonEnv) acquireSemaphore(ctx context.Context, name string, o lock.Options) (func() error, error) {
	s := e.client().Semaphore(name)
	acquire := s.Acquire
	if o.Wait == 0 {
		acquire = s.TryAcquire
	}
	if err := acquire(ctx, 1); err != nil {
		return nil, err
	}
	return func() error { return s.Release(context.Background(), 1) }, nil
}

func startServers(t *testing.T, n int) (servers []*lab.Redis) {
	t.Helper()
	for range n {
		s := labtest.Start(t, func(l *lab.Lab) (*lab.Redis, error) { return lab.StartRedisTCP(l) })
		servers = append(servers, s)
	}
	return servers
}

func shareRedisson(t *testing.T) {
	server := startServers(t, 1)[0]
	e := newRedissonEnv(t, "servers", server.URL, server)
	t.Run("all", func(t *testing.T) {
		for _, p := range e.primitives() {
			t.Run(p.java, func(t *testing.T) { t.Parallel(); e.share(t, p) })
		}
		t.Run("latch", func(t *testing.T) { t.Parallel(); e.latch(t) })
		t.Run("readers", func(t *testing.T) { t.Parallel(); e.readers(t) })
		t.Run("fences", func(t *testing.T) { t.Parallel(); e.fences(t) })
	})
}

// shareInCluster shares Redisson's RLock in a Redis Cluster of three masters. The
// names are in slots of all of them.
func shareInCluster(t *testing.T) {
	cluster := labtest.Topology(t, "cluster")
	e := newRedissonEnv(t, "cluster", cluster.URL, cluster.Nodes...)
	p := e.lock()
	p.handovers = 400
	e.share(t, p)
}

// shareRedlock shares Java's RedissonRedLock with a redlock.Locker over Redisson's
// RLock on the same three servers. One of them is killed in the middle.
func shareRedlock(t *testing.T) {
	servers := startServers(t, 3)
	e := newRedissonEnv(t, "servers", servers[0].URL, servers...)
	p := primitive{java: "redlock", handovers: 100, locker: func(t *testing.T, _ string) lock.Locker {
		var nodes []lock.Locker
		for _, server := range servers {
			nodes = append(nodes, redisson.New(labtest.Dial(t, server)).Lock())
		}
		return redlock.New(nodes...)
	}}
	e.share(t, p)
	servers[2].Kill() // the majority is left; each request of Java takes 5 s now
	t.Run("WithoutOneServer", func(t *testing.T) { e.excludeEachOther(t, p) })
}

// excludeEachOther has each language hold the lock while the other tries.
func (e redissonEnv) excludeEachOther(t *testing.T, p primitive) {
	name, th := e.name(t, p), e.thread(t)
	l := p.locker(t, name)
	th.expect(t, "ok", "lock", p.java, name, 0)
	locktest.WantLocked(t, l, name)
	th.expect(t, "ok", "unlock", p.java, name)
	lease := locktest.MustTryLock(t, l, name, longTTL)
	th.expect(t, "locked", "lock", p.java, name, 0)
	check.NoError(t, lease.Release(t.Context()))
	th.expect(t, "ok", "lock", p.java, name, 0)
	th.expect(t, "ok", "unlock", p.java, name)
}

// latch: both languages count down and wait, whichever has set the count.
func (e redissonEnv) latch(t *testing.T) {
	name := labtest.Name(t)
	th, waiter := e.thread(t), e.thread(t)
	l := e.client().CountDownLatch(name)
	for _, setter := range []string{"Go", "Java"} {
		if setter == "Go" {
			if set, err := l.TrySetCount(t.Context(), 2); err != nil || !set {
				t.Fatalf("TrySetCount: %t, %v, want true", set, err)
			}
		} else {
			th.expect(t, "true", "trySetCount", "latch", name, 2)
		}
		javaDone := waiter.callAsync("await", "latch", name, longTTL.Milliseconds())
		goDone := make(chan string, 1)
		go func() { goDone <- fmt.Sprint(l.Await(t.Context())) }()
		time.Sleep(50 * time.Millisecond)
		check.NoError(t, l.CountDown(t.Context()))
		if n, err := l.Count(t.Context()); err != nil || n != 1 {
			t.Fatalf("count %d, %v, want 1", n, err)
		}
		if setter == "Go" {
			th.expect(t, "ok", "countDown", "latch", name)
		} else {
			check.NoError(t, l.CountDown(t.Context()))
		}
		wantReply(t, "Java's await", javaDone, "ok")
		wantReply(t, "Go's Await", goDone, "<nil>")
	}
}

// fences: each fence is higher than the last, also one of the other language.
func (e redissonEnv) fences(t *testing.T) {
	name, th, l := labtest.Name(t), e.thread(t), e.client().FencedLock()
	var last uint64
	for range 20 {
		lease := locktest.MustTryLock(t, l, name, longTTL)
		if lease.Fence() <= last {
			t.Fatalf("Go's fence %d after %d, want a higher one", lease.Fence(), last)
		}
		last = lease.Fence()
		check.NoError(t, lease.Release(t.Context()))
		th.expect(t, "ok", "lock", "fenced", name, 0)
		last++ // Java increments the counter
		th.expect(t, fmt.Sprint(last), "token", "fenced", name)
		th.expect(t, "ok", "unlock", "fenced", name)
	}
}
