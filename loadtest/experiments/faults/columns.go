package faults

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"
)

// leaseTime is the lease that the holders ask for. Their clients' time-outs are
// shorter: a client that waits for a reply for longer than its lease is a finding
// about the setting.
const leaseTime = 3 * time.Second

// A column is a lock of the table.
type column struct {
	name    string
	backend *backend
	command string   // of its holder, for the shell
	env     []string // of its holder, beside the servers
	kind    kind
	fenced  bool          // a later grant has a larger fence
	bound   bool          // ends with its connection
	returns time.Duration // how long after a fault it may take until a lock can be acquired
	keeps   string        // how it keeps its lease, and the time-outs of its client
	needs   string        // the file that make holders builds for it last, if any
}

// A kind is what is expected of a lock.
type kind string

const (
	ours    kind = "ours"    // keeps its contract
	peer    kind = "peer"    // is measured
	control kind = "control" // has to fail
)

const (
	watchdog   = "extended every third of the lease by its client; "
	goRedis    = "go-redis with 1 s for a reply and one retry"
	ownLoop    = "extended every third of the lease by its holder; "
	controlled = "a reply may take a minute, no retry"
)

// own returns a column for a holder of this program.
func own(name, holder string, b *backend, fenced bool, keeps string) column {
	return column{
		name: name, backend: b, command: "bin/loadtest holder", env: []string{"HOLDER=" + holder}, kind: ours,
		fenced: fenced, bound: b == mysqlServer && !fenced, keeps: keeps,
	}
}

// replicated returns c with the time until a replica follows a restarted master
// again: before that nothing is acquired.
func replicated(c column) column {
	c.returns = 5 * time.Second
	return c
}

// election is how long an ensemble may be without a leader: ZooKeeper notices after three
// seconds that a server is silent, etcd after two at most, unless a vote is split.
const election = 3 * time.Second

// elected returns c with the time until there is a leader again, who then grants each
// session its whole lease once more. A member that comes back has another one elected.
func elected(c column) column {
	c.returns = election + leaseTime
	return c
}

var columns = []column{
	own("redislock", "redis-each", oneRedis, false, watchdog+goRedis),
	own("redislock batched", "redis", oneRedis, false, watchdog+goRedis),
	own("redislock fenced", "redis-fenced", oneRedis, true, watchdog+goRedis),
	replicated(own("redislock replicated", "redis-replicated", replicatedRedis, false,
		watchdog+goRedis+"; WAIT of 0.5 s")),
	own("redisson", "redisson", oneRedis, false, watchdog+goRedis),
	own("redisson fair", "redisson-fair", oneRedis, false, watchdog+goRedis),
	own("redisson fenced", "redisson-fenced", oneRedis, true, watchdog+goRedis),
	own("redisson multi of three", "redisson-multi", threeRedis, false, watchdog+goRedis+" for each Redis"),
	own("redlock of five", "redlock", fiveRedis, false, watchdog+goRedis+"; 0.5 s for each node"),
	own("MySQL rows", "mysql", mysqlServer, true, watchdog+"10 s for a statement"),
	own("GET_LOCK", "getlock", mysqlServer, false, "held by its connection, which a ping watches"),
	own("ZooKeeper", "zk", zookeeperServer, true, "held by a session of one lease"),
	elected(own("ZooKeeper of three", "zk", threeZooKeeper, true, "held by a session of one lease")),
	own("etcd", "etcd", etcdServer, true, watchdog+"etcd's lease"),
	elected(own("etcd of three", "etcd", threeEtcd, true, watchdog+"etcd's lease")),
	own("memcached", "memcache", memcachedServer, false, watchdog+"0.5 s for a reply"),

	library("bsm/redislock", "bsm", oneRedis, ownLoop+"go-redis with 3 s for a reply and three retries"),
	library("redsync", "redsync", oneRedis, ownLoop+"go-redis with 3 s for a reply and three retries"),
	library("redsync of five", "redsync", fiveRedis, ownLoop+"go-redis with 3 s for a reply and three retries"),
	library("rueidislock", "rueidislock", oneRedis, "extended every half of the lease by its client"),
	library("etcd's Mutex", "etcd-mutex", etcdServer, "held by a session of one lease"),
	library("etcd's Mutex of three", "etcd-mutex", threeEtcd, "held by a session of one lease"),
	library("go-zookeeper's Lock", "zookeeper", zookeeperServer, "held by a session of one lease"),

	built("redis-py", python+" "+pythonHolders+"redis_py.py", oneRedis, python,
		ownLoop+"redis-py with 5 s for a reply and ten retries"),
	built("Node's redlock", "node examples/holders/node/redlock.mjs", fiveRedis,
		"examples/holders/node/node_modules/redlock",
		"extended 0.5 s before its end by its client; ioredis without a limit for a reply"),
	built("Redisson's RLock", javaHolder+" RedissonHolder", oneRedis, javaClasses,
		watchdog+"Redisson's own time-outs"),
	built("Redisson's fair lock", javaHolder+" RedissonHolder fair", oneRedis, javaClasses,
		watchdog+"Redisson's own time-outs"),
	built("Redisson's MultiLock", javaHolder+" RedissonHolder multi", threeRedis, javaClasses,
		watchdog+"Redisson's own time-outs"),
	built("RedissonRedLock", javaHolder+" RedissonHolder redlock", fiveRedis, javaClasses,
		watchdog+"Redisson's own time-outs"),
	built("Curator", javaHolder+" CuratorHolder", zookeeperServer, javaClasses, "held by a session of one lease"),

	must("no lock", "none", "no lock"),
	must("SETNX without owner", "setnx-no-owner", "not extended; "+controlled),
	must("lease from the reply", "lease-from-reply", ownLoop+controlled),
}

// library returns a column for a Go library.
func library(name, holder string, b *backend, keeps string) column {
	c := own(name, holder, b, false, keeps)
	c.command, c.kind = "bin/bench-peers holder", peer
	return c
}

// The holders in other languages, which make holders builds.
const (
	pythonHolders = "examples/holders/python/"
	python        = pythonHolders + ".venv/bin/python"
	javaHolder    = "examples/holders/java/holder"
	javaClasses   = "examples/holders/java/target/classes"
)

// built returns a column for a library whose holder can only be tried when the file
// needs exists.
func built(name, command string, b *backend, needs, keeps string) column {
	return column{name: name, backend: b, command: command, kind: peer, needs: needs, keeps: keeps}
}

// lacks returns what is missing to try c, or nothing.
func (c column) lacks() string {
	if _, err := os.Stat(c.needs); c.needs != "" && err != nil {
		return "its holder is not built (make holders)"
	}
	if c.backend.ensemble != nil && os.Geteuid() != 0 {
		return "hosts of their own need root"
	}
	return ""
}

// optional says that a whole run may lack c.
func (c column) optional() bool { return c.needs != "" || c.backend.ensemble != nil }

// possibleOf returns those of list that can be tried, and says which cannot.
func possibleOf(list []column) (all []column) {
	for _, c := range list {
		if what := c.lacks(); what != "" {
			fmt.Printf("not tried, because %s: %s\n", what, c.name)
			continue
		}
		all = append(all, c)
	}
	return all
}

// must returns a column for a control, which must fail.
func must(name, holder, keeps string) column {
	c := own(name, holder, oneRedis, false, keeps)
	c.kind = control
	return c
}

// chosen returns the columns of the setting CELL, or the one of LOCK and BACKEND, or
// all.
func chosen(lock, cell string) ([]column, error) {
	if lock != "" {
		name := os.Getenv("BACKEND")
		b, ok := backends[name]
		if !ok {
			return nil, fmt.Errorf("BACKEND=%q: want one of %s", name,
				strings.Join(slices.Sorted(maps.Keys(backends)), ", "))
		}
		return []column{{name: "LOCK", backend: b, command: lock, kind: peer, keeps: lock}}, nil
	}
	name, _, _ := strings.Cut(cell, "/")
	if name == "" {
		return possibleOf(columns), nil
	}
	c, err := named(columns, func(c column) string { return c.name }, name)
	if err == nil && c.lacks() != "" {
		err = errors.New(c.lacks())
	}
	if err != nil {
		return nil, fmt.Errorf("CELL=%q: the lock: %w", cell, err)
	}
	return []column{c}, nil
}

// slug returns name as a part of CELL.
func slug(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ' || r == '/':
			return '-'
		case r == '\'' || r == ':' || r == ',':
			return -1
		}
		return r
	}, strings.ToLower(name))
}

// named returns the one of list whose name is part in CELL.
func named[T any](list []T, name func(T) string, part string) (one T, err error) {
	var all []string
	for _, one := range list {
		all = append(all, slug(name(one)))
		if all[len(all)-1] == part {
			return one, nil
		}
	}
	slices.Sort(all)
	return one, fmt.Errorf("want one of %s", strings.Join(all, ", "))
}
