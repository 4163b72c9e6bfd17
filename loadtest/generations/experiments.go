package main

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"

	"example.com/flashsale/internal/lab"
	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/lock/redislock"
	"example.com/flashsale/internal/lock/redisson"
	"example.com/flashsale/internal/lock/redlock"
)

// An experiment is one defect, what provokes it, and which generations break
// and hold under that.
type experiment struct {
	Defect      string
	Provocation string
	provoke     func(*scene) outcome
	breaks      []generation
	holds       []generation
}

// The articles' generations.
var (
	gSetnxExpire = generation{"SETNX, EXPIRE, DEL", 1, func(p *process, key string) mutex { return &setnxExpire{p.nodes[0], key} }}
	gSetDel      = generation{"SET NX EX, DEL", 1, func(p *process, key string) mutex { return &setDel{p.nodes[0], key, p.thread} }}
	gSetGetDel   = generation{"UUID, GET, DEL", 1, func(p *process, key string) mutex { return &setGetDel{p.nodes[0], key, owner(p)} }}
	gThreadID    = generation{"thread id, Lua", 1, func(p *process, key string) mutex {
		return &setLua{p.nodes[0], key, fmt.Sprint(p.thread)}
	}}
	gLua         = generation{"UUID, Lua", 1, func(p *process, key string) mutex { return newSetLua(p, key) }}
	gThreadLocal = generation{"ThreadLocal count++", 1, func(p *process, key string) mutex { return &threadLocal{rdb: p.nodes[0], key: key} }}
	gCounting    = generation{"ThreadLocal count, Lua", 1, func(p *process, key string) mutex { return &counting{setLua: *newSetLua(p, key)} }}
	gSequence    = generation{"RedLock in sequence", 5, func(p *process, key string) mutex { return &sequence{p.nodes, key, owner(p)} }}
	gFair        = generation{"list, polled", 1, func(p *process, key string) mutex { return &fair{*newSetLua(p, key)} }}
)

// What this repository has instead.
var (
	gRedis    = generation{"redislock", 1, func(p *process, key string) mutex { return &asked{locker: redislock.New(p.nodes[0]), key: key} }}
	gFenced   = generation{"redislock.Fenced, fence in the database", 1, func(p *process, key string) mutex { return &asked{locker: redislock.Fenced(p.nodes[0]), key: key} }}
	gRedisson = generation{"redisson", 1, func(p *process, key string) mutex {
		return &asked{locker: redisson.New(p.nodes[0], redisson.Auto).Lock(), key: key}
	}}
	gAcquire         = generation{"lock.Acquire: renewed", 1, policy(lock.Options{})}
	gReenter         = generation{"lock.Acquire, Reentrant", 1, policy(lock.Options{Reentrant: true, NoRenewal: true})}
	gRedissonReenter = generation{"redisson, lock.Acquire, Reentrant", 1, func(p *process, key string) mutex {
		return &kept{locker: redisson.New(p.nodes[0], redisson.Auto).Lock(), key: key, o: lock.Options{Reentrant: true, NoRenewal: true}}
	}}
	gRedissonFair = generation{"redisson, fair", 1, func(p *process, key string) mutex {
		return &kept{locker: redisson.New(p.nodes[0], redisson.Auto).FairLock(), key: key, o: lock.Options{Wait: -1}}
	}}
	gReplicated = generation{"redislock.Replicated (WAIT)", 1, func(p *process, key string) mutex { return &replicated{p: p, asked: asked{key: key}} }}
	gRedlock    = generation{"redlock", 5, func(p *process, key string) mutex {
		return &kept{locker: newRedlock(p), key: key, o: lock.Options{NoRenewal: true}}
	}}
	gQueue = generation{"lock.Acquire, Wait", 1, policy(lock.Options{Wait: -1})}
)

func newSetLua(p *process, key string) *setLua { return &setLua{p.nodes[0], key, owner(p)} }

func newRedlock(p *process) *redlock.Locker {
	var nodes []lock.Locker
	for _, node := range p.nodes {
		nodes = append(nodes, redislock.New(node))
	}
	return redlock.New(nodes...)
}

func policy(o lock.Options) func(p *process, key string) mutex {
	return func(p *process, key string) mutex {
		return &kept{locker: redislock.New(p.nodes[0]), key: key, o: o}
	}
}

var experiments = []experiment{
	{"locked for ever", "the process dies between two commands of its lock", diesLocking,
		[]generation{gSetnxExpire}, []generation{gSetDel, gRedis, gRedisson}},
	{"frees another's lock", "the holder sleeps beyond its lease, then unlocks", wakesLate,
		[]generation{gSetDel}, []generation{gSetGetDel, gRedis, gRedisson}},
	{"the same, rarer", "the holder sleeps between two commands of its unlock", sleepsUnlocking,
		[]generation{gSetGetDel}, []generation{gLua, gRedis, gRedisson}},
	{"two processes, one owner", "as above; both holders are thread 1 of their process", sleepsUnlocking,
		[]generation{gThreadID}, []generation{gLua, gRedis}},
	{"lease shorter than the work", "the work takes three leases", worksLong,
		[]generation{gLua}, []generation{gAcquire}},
	{"the inner unlock frees the outer lock", "locked twice, unlocked once", locksTwice,
		[]generation{gThreadLocal}, []generation{gCounting, gReenter, gRedissonReenter}},
	{"refused once, let in the second time", "asks twice for what another holds", asksAgain,
		[]generation{gThreadLocal}, []generation{gCounting, gReenter}},
	{"re-enters what is no longer its own", "the lease ends, another locks, the first re-enters", entersLate,
		[]generation{gCounting}, []generation{gReenter}},
	{"the queue's first never leaves", "one locks and unlocks, the next waits", queues,
		[]generation{gFair}, []generation{gQueue, gRedissonFair}},
	{"a dead waiter blocks the queue", "a waiter dies, then the holder unlocks", diesWaiting,
		[]generation{gFair}, []generation{gQueue, gRedissonFair}},
	{"a failover forgets the lock", "the master dies before its replica has the lock", failsOver,
		[]generation{gLua, gRedis, gRedisson}, []generation{gReplicated, gRedlock, gFenced}},
	{"one hung node denies the lock", "one of five nodes hangs", oneHangs,
		[]generation{gSequence}, []generation{gRedlock}},
	{"the holder counts its lease too long", "one of five nodes answers late", oneIsLate,
		[]generation{gSequence}, []generation{gRedlock}},
	{"a paused holder writes late", "the holder sleeps beyond its lease, then writes", sleepsWriting,
		[]generation{gLua, gRedis, gRedisson, gRedlock}, []generation{gFenced}},
}

// A Trial is one generation under one provocation.
type Trial struct {
	Generation string `json:"generation"`
	Expect     string `json:"expect"` // break or hold
	Broke      bool   `json:"broke"`
	Seen       string `json:"seen"`
	Pass       bool   `json:"pass"`
}

// A Result is what became of an experiment.
type Result struct {
	Defect      string  `json:"defect"`
	Provocation string  `json:"provocation"`
	Breaks      []Trial `json:"breaks"`
	Holds       []Trial `json:"holds"`
	Pass        bool    `json:"pass"`
}

// run plays e with each of its generations. A trial that could not be played
// to its end has shown nothing: that is an error.
func (e experiment) run(ctx context.Context, l *lab.Lab, r *resource) (Result, error) {
	result := Result{Defect: e.Defect, Provocation: e.Provocation, Pass: true,
		Breaks: make([]Trial, len(e.breaks)), Holds: make([]Trial, len(e.holds))}
	var all errgroup.Group
	play := func(g generation, expect string, to *Trial) {
		all.Go(func() error {
			o, err := play(ctx, l, r, g, e.provoke)
			*to = Trial{g.Name, expect, o.Broke, o.Seen, o.Broke == (expect == "break")}
			return err
		})
	}
	for i, g := range e.breaks {
		play(g, "break", &result.Breaks[i])
	}
	for i, g := range e.holds {
		play(g, "hold", &result.Holds[i])
	}
	err := all.Wait()
	for _, t := range append(result.Breaks, result.Holds...) {
		result.Pass = result.Pass && t.Pass
	}
	return result, err
}
