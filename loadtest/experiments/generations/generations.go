package generations

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"example.com/flashsale/internal/lock"
)

// A mutex is a lock on one key for one thread of one process, with the methods
// of the articles' lock interface.
type mutex interface {
	TryLock(ctx context.Context, ttl time.Duration) (bool, error)
	Unlock(ctx context.Context) error
}

// A generation is one implementation of a lock.
type generation struct {
	Name      string
	nodes     int // number of independent Redis servers
	newMutex  func(p *process, key string) mutex
	zookeeper bool // instead of Redis
}

// The generations of the articles.
var (
	gSetnxExpire = onOneNode("SETNX, EXPIRE, DEL", func(p *process, key string) mutex {
		return &setnxExpireLock{p.nodes[0], key}
	})
	gSetDel = onOneNode("SET NX EX, DEL", func(p *process, key string) mutex {
		return &setDelLock{ownedLock{p.nodes[0], key, fmt.Sprint(p.thread)}}
	})
	gSetGetDel = onOneNode("UUID, GET, DEL",
		func(p *process, key string) mutex { return &setGetDelLock{owned(p, key)} })
	gThreadID = onOneNode("thread id, Lua", func(p *process, key string) mutex {
		return &luaLock{ownedLock{p.nodes[0], key, fmt.Sprint(p.thread)}}
	})
	gLua         = onOneNode("UUID, Lua", func(p *process, key string) mutex { return &luaLock{owned(p, key)} })
	gThreadLocal = onOneNode("ThreadLocal count++", func(p *process, key string) mutex {
		return &threadLocalLock{rdb: p.nodes[0], key: key}
	})
	gCounting = onOneNode("ThreadLocal count, Lua", func(p *process, key string) mutex {
		return &countingLock{luaLock: luaLock{owned(p, key)}}
	})
	gFair = onOneNode("list, polled", func(p *process, key string) mutex {
		return &polledFairLock{luaLock{owned(p, key)}}
	})
	gSequence = generation{Name: "RedLock in sequence", nodes: 5, newMutex: func(p *process, key string) mutex {
		return &sequentialRedlock{p.nodes, key, newOwner(p)}
	}}
	gScript = onOneNode("Lua: SETNX, EXPIRE", func(p *process, key string) mutex {
		return &scriptLock{luaLock{owned(p, key)}}
	})
	gThread   = onOneNode("a thread renews every 20 of 30 s", threadRenewed)
	gPrinted  = onOneNode("Redisson's watchdog as printed", printedWatchdog)
	gOneZnode = generation{Name: "one znode, watched by all", zookeeper: true,
		newMutex: func(p *process, key string) mutex { return &singleNodeLock{p: p, path: "/" + key} }}
)

// The generations of this repository.
var (
	gRedis      = tryOnce("redislock", "redis-each")
	gFenced     = tryOnce("redislock.Fenced, fence in the database", "redis-fenced")
	gRedisson   = tryOnce("redisson", "redisson")
	gReplicated = tryOnce("redislock.Replicated (WAIT)", "redis-replicated")
	gAcquire    = withClient("lock.Client: renewed", "redis-each", lock.Options{})
	gReenter    = withClient("lock.Client, Reentrant", "redis-each",
		lock.Options{Reentrant: true, NoRenewal: true})
	gRedissonReenter = withClient("redisson, lock.Client, Reentrant", "redisson",
		lock.Options{Reentrant: true, NoRenewal: true})
	gRedissonFair = withClient("redisson, fair", "redisson-fair", lock.Options{Wait: -1})
	gRedlock      = generation{Name: "redlock", nodes: 5, newMutex: acquired("redlock", lock.Options{NoRenewal: true})}
	gQueue        = withClient("lock.Client, Wait", "redis-each", lock.Options{Wait: -1})
	gZKQueue      = generation{Name: "zk, lock.Client, Wait", zookeeper: true,
		newMutex: acquired("zk", lock.Options{Wait: -1})}
)

// newOwner returns the value of the later generations: a random prefix for the
// process, and the thread's id.
func newOwner(p *process) string { return fmt.Sprintf("%s-%d", rand.Text(), p.thread) }

// owned returns an ownedLock with an owner of its own.
func owned(p *process, key string) ownedLock { return ownedLock{p.nodes[0], key, newOwner(p)} }

func onOneNode(name string, newMutex func(p *process, key string) mutex) generation {
	return generation{Name: name, nodes: 1, newMutex: newMutex}
}

// tryOnce is a driver whose lease is not renewed.
func tryOnce(name, driver string) generation {
	return onOneNode(name, func(p *process, key string) mutex { return newLockerMutex(p, driver, key) })
}

func newLockerMutex(p *process, driver, key string) *lockerMutex {
	return &lockerMutex{driven: driven{p: p, driver: driver}, key: key}
}

// withClient is a lock.Client over a driver that acquires with o.
func withClient(name, driver string, o lock.Options) generation {
	return onOneNode(name, acquired(driver, o))
}

func acquired(driver string, o lock.Options) func(p *process, key string) mutex {
	return func(p *process, key string) mutex {
		return &acquireMutex{driven: driven{p: p, driver: driver}, key: key, options: o}
	}
}
