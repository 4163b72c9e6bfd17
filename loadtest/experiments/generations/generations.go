package generations

import (
	"context"
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
	Name     string
	nodes    int // number of independent Redis servers
	newMutex func(p *process, key string) mutex
}

// The generations of the articles.
var (
	gSetnxExpire = generation{"SETNX, EXPIRE, DEL", 1,
		func(p *process, key string) mutex { return &setnxExpireLock{p.nodes[0], key} }}
	gSetDel = generation{"SET NX EX, DEL", 1,
		func(p *process, key string) mutex { return &setDelLock{p.nodes[0], key, p.thread} }}
	gSetGetDel = generation{"UUID, GET, DEL", 1,
		func(p *process, key string) mutex { return &setGetDelLock{p.nodes[0], key, newOwner(p)} }}
	gThreadID = generation{"thread id, Lua", 1, func(p *process, key string) mutex {
		return &luaLock{p.nodes[0], key, fmt.Sprint(p.thread)}
	}}
	gLua         = generation{"UUID, Lua", 1, func(p *process, key string) mutex { return newLuaLock(p, key) }}
	gThreadLocal = generation{"ThreadLocal count++", 1,
		func(p *process, key string) mutex { return &threadLocalLock{rdb: p.nodes[0], key: key} }}
	gCounting = generation{"ThreadLocal count, Lua", 1,
		func(p *process, key string) mutex { return &countingLock{luaLock: *newLuaLock(p, key)} }}
	gSequence = generation{"RedLock in sequence", 5,
		func(p *process, key string) mutex { return &sequentialRedlock{p.nodes, key, newOwner(p)} }}
	gFair = generation{"list, polled", 1,
		func(p *process, key string) mutex { return &polledFairLock{*newLuaLock(p, key)} }}
)

// The generations of this repository.
var (
	gRedis = generation{"redislock", 1,
		func(p *process, key string) mutex { return &lockerMutex{locker: redislock.New(p.nodes[0]), key: key} }}
	gFenced = generation{"redislock.Fenced, fence in the database", 1, func(p *process, key string) mutex {
		return &lockerMutex{locker: redislock.Fenced(p.nodes[0]), key: key}
	}}
	gRedisson = generation{"redisson", 1, func(p *process, key string) mutex {
		return &lockerMutex{locker: redisson.New(p.nodes[0], redisson.Auto).Lock(), key: key}
	}}
	gAcquire = generation{"lock.Client: renewed", 1, withOptions(lock.Options{})}
	gReenter = generation{"lock.Client, Reentrant", 1,
		withOptions(lock.Options{Reentrant: true, NoRenewal: true})}
	gRedissonReenter = generation{"redisson, lock.Client, Reentrant", 1, func(p *process, key string) mutex {
		return &acquireMutex{client: lock.New(redisson.New(p.nodes[0], redisson.Auto).Lock()), key: key,
			options: lock.Options{Reentrant: true, NoRenewal: true}}
	}}
	gRedissonFair = generation{"redisson, fair", 1, func(p *process, key string) mutex {
		return &acquireMutex{client: lock.New(redisson.New(p.nodes[0], redisson.Auto).FairLock()), key: key,
			options: lock.Options{Wait: -1}}
	}}
	gReplicated = generation{"redislock.Replicated (WAIT)", 1,
		func(p *process, key string) mutex { return &replicatedMutex{p: p, lockerMutex: lockerMutex{key: key}} }}
	gRedlock = generation{"redlock", 5, func(p *process, key string) mutex {
		return &acquireMutex{client: lock.New(newRedlock(p)), key: key, options: lock.Options{NoRenewal: true}}
	}}
	gQueue = generation{"lock.Client, Wait", 1, withOptions(lock.Options{Wait: -1})}
)

// newLuaLock returns a luaLock with an owner of its own.
func newLuaLock(p *process, key string) *luaLock { return &luaLock{p.nodes[0], key, newOwner(p)} }

func newRedlock(p *process) *redlock.Locker {
	var nodes []lock.Locker
	for _, node := range p.nodes {
		nodes = append(nodes, redislock.New(node))
	}
	return redlock.New(nodes...)
}

// withOptions opens a lock.Client on redislock that acquires with o.
func withOptions(o lock.Options) func(p *process, key string) mutex {
	return func(p *process, key string) mutex {
		return &acquireMutex{client: lock.New(redislock.New(p.nodes[0])), key: key, options: o}
	}
}
