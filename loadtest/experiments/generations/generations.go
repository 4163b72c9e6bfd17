package generations

import (
	"context"
	"crypto/rand"
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
	newMutex  func(*process) mutex
	nodes     int  // number of independent Redis servers; 0: one
	zookeeper bool // instead of Redis
}

// thread is the id of the main thread, which is the same in every process.
const thread = "1"

// The generations of the articles.
var (
	gSetnxExpire = generation{Name: "SETNX, EXPIRE, DEL",
		newMutex: func(p *process) mutex { return &setnxExpireLock{p.nodes[0], p.key} }}
	gSetDel = generation{Name: "SET NX EX, DEL",
		newMutex: func(p *process) mutex { return &setDelLock{ownedLock{p.nodes[0], p.key, thread}} }}
	gSetGetDel = generation{Name: "UUID, GET, DEL",
		newMutex: func(p *process) mutex { return &setGetDelLock{owned(p)} }}
	gThreadID = generation{Name: "thread id, Lua",
		newMutex: func(p *process) mutex { return &luaLock{ownedLock{p.nodes[0], p.key, thread}} }}
	gLua = generation{Name: "UUID, Lua",
		newMutex: func(p *process) mutex { return &luaLock{owned(p)} }}
	gThreadLocal = generation{Name: "ThreadLocal count++",
		newMutex: func(p *process) mutex { return &threadLocalLock{rdb: p.nodes[0], key: p.key} }}
	gCounting = generation{Name: "ThreadLocal count, Lua",
		newMutex: func(p *process) mutex { return &countingLock{luaLock: luaLock{owned(p)}} }}
	gFair = generation{Name: "list, polled",
		newMutex: func(p *process) mutex { return &polledFairLock{luaLock{owned(p)}} }}
	gSequence = generation{Name: "RedLock in sequence", nodes: 5,
		newMutex: func(p *process) mutex { return &sequentialRedlock{p.nodes, p.key, newOwner()} }}
	gScript = generation{Name: "Lua: SETNX, EXPIRE",
		newMutex: func(p *process) mutex { return &scriptLock{luaLock{owned(p)}} }}
	gThread   = generation{Name: "a thread renews every 20 of 30 s", newMutex: threadRenewed}
	gPrinted  = generation{Name: "Redisson's watchdog as printed", newMutex: printedWatchdog}
	gOneZnode = generation{Name: "one znode, watched by all", zookeeper: true,
		newMutex: func(p *process) mutex { return newSingleNodeLock(p) }}
)

// How a lock.Client acquires: once leaves its first lease to end.
var (
	once    = lock.Options{NoRenewal: true}
	reenter = lock.Options{NoRenewal: true, Reentrant: true}
	waiting = lock.Options{Wait: -1}
)

// The generations of this repository.
var (
	gRedis           = generation{Name: "redislock", newMutex: client("redis", once)}
	gFenced          = generation{Name: "redislock.Fenced, fence checked", newMutex: client("redis-fenced", once)}
	gRedisson        = generation{Name: "redisson", newMutex: client("redisson", once)}
	gReplicated      = generation{Name: "redislock.Replicated (WAIT)", newMutex: client("redis-replicated", once)}
	gAcquire         = generation{Name: "lock.Client: renewed", newMutex: client("redis", lock.Options{})}
	gReenter         = generation{Name: "lock.Client, Reentrant", newMutex: client("redis", reenter)}
	gRedissonReenter = generation{Name: "redisson, lock.Client, Reentrant", newMutex: client("redisson", reenter)}
	gRedissonFair    = generation{Name: "redisson, fair", newMutex: client("redisson-fair", waiting)}
	gRedlock         = generation{Name: "redlock", newMutex: client("redlock", once), nodes: 5}
	gQueue           = generation{Name: "lock.Client, Wait", newMutex: client("redis", waiting)}
	gZKQueue         = generation{Name: "zk, lock.Client, Wait", newMutex: client("zk", waiting), zookeeper: true}
)

// newOwner returns the value of the later generations: a random prefix for the
// process, and the thread's id.
func newOwner() string { return rand.Text() + "-" + thread }

// owned returns an ownedLock with an owner of its own.
func owned(p *process) ownedLock { return ownedLock{p.nodes[0], p.key, newOwner()} }
