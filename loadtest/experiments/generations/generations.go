package generations

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/lock/redislock"
	"example.com/flashsale/internal/lock/redisson"
	"example.com/flashsale/internal/lock/redlock"
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
	gRedis      = tryOnce("redislock", plain)
	gFenced     = tryOnce("redislock.Fenced, fence in the database", fenced)
	gRedisson   = tryOnce("redisson", redissonLock)
	gReplicated = onOneNode("redislock.Replicated (WAIT)", func(p *process, key string) mutex {
		return &replicatedMutex{p: p, lockerMutex: lockerMutex{key: key}}
	})
	gAcquire         = withClient("lock.Client: renewed", 1, plain, lock.Options{})
	gReenter         = withClient("lock.Client, Reentrant", 1, plain, lock.Options{Reentrant: true, NoRenewal: true})
	gRedissonReenter = withClient("redisson, lock.Client, Reentrant", 1, redissonLock,
		lock.Options{Reentrant: true, NoRenewal: true})
	gRedissonFair = withClient("redisson, fair", 1, func(p *process) lock.Locker { return newRedisson(p).FairLock() },
		lock.Options{Wait: -1})
	gRedlock = withClient("redlock", 5, newRedlock, lock.Options{NoRenewal: true})
	gQueue   = withClient("lock.Client, Wait", 1, plain, lock.Options{Wait: -1})
	gZKQueue = generation{Name: "zk, lock.Client, Wait", zookeeper: true, newMutex: newZKMutex}
)

// newOwner returns the value of the later generations: a random prefix for the
// process, and the thread's id.
func newOwner(p *process) string { return fmt.Sprintf("%s-%d", rand.Text(), p.thread) }

// owned returns an ownedLock with an owner of its own.
func owned(p *process, key string) ownedLock { return ownedLock{p.nodes[0], key, newOwner(p)} }

func plain(p *process) lock.Locker        { return redislock.New(p.nodes[0]) }
func fenced(p *process) lock.Locker       { return redislock.Fenced(p.nodes[0]) }
func redissonLock(p *process) lock.Locker { return newRedisson(p).Lock() }

func newRedisson(p *process) *redisson.Client { return redisson.New(p.nodes[0], redisson.Auto) }

func newRedlock(p *process) lock.Locker {
	var nodes []lock.Locker
	for _, node := range p.nodes {
		nodes = append(nodes, redislock.New(node))
	}
	return redlock.New(nodes...)
}

func onOneNode(name string, newMutex func(p *process, key string) mutex) generation {
	return generation{Name: name, nodes: 1, newMutex: newMutex}
}

// tryOnce is a locker whose lease is not renewed.
func tryOnce(name string, locker func(*process) lock.Locker) generation {
	return onOneNode(name, func(p *process, key string) mutex { return &lockerMutex{locker: locker(p), key: key} })
}

// withClient is a lock.Client that acquires with o.
func withClient(name string, nodes int, locker func(*process) lock.Locker, o lock.Options) generation {
	return generation{Name: name, nodes: nodes, newMutex: func(p *process, key string) mutex {
		return &acquireMutex{client: lock.New(locker(p)), key: key, options: o}
	}}
}
