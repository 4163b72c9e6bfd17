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
	holder  string // the lock that the command serves, if it serves several
	backend *backend
	keeps   string // how it keeps its lease, and the time-outs of its client
	kind    kind
	command string        // of its holder, for the shell
	fenced  bool          // a later grant has a larger fence
	bound   bool          // ends with its connection
	returns time.Duration // how long after a fault it may take until a lock can be acquired
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
	session    = "held by a session of one lease"
	watchdog   = "extended every third of the lease by its client; "
	goRedis    = "go-redis with 1 s for a reply and one retry"
	ownLoop    = "extended every third of the lease by its holder; "
	patient    = "go-redis with 3 s for a reply and three retries"
	controlled = "a reply may take a minute, no retry"
)

const (
	// following is how long it takes until a replica follows a restarted master again: before
	// that nothing is acquired.
	following = 5 * time.Second
	// electing is how long an ensemble may be without a leader, who then grants each session
	// its whole lease once more: ZooKeeper notices after three seconds that a server is
	// silent, etcd after two at most, unless a vote is split. A member that comes back has
	// another leader elected.
	electing = 3*time.Second + leaseTime
)

// The holders in other languages, which make holders builds.
const (
	python      = "examples/holders/python/.venv/bin/python"
	redisPy     = python + " examples/holders/python/redis_py.py"
	nodeRedlock = "node examples/holders/node/redlock.mjs"
	nodeModule  = "examples/holders/node/node_modules/redlock"
	redissons   = "examples/holders/java/holder RedissonHolder"
	curator     = "examples/holders/java/holder CuratorHolder"
	javaClasses = "examples/holders/java/target/classes"
	redissonOwn = watchdog + "Redisson's own time-outs"
)

var columns = slices.Concat(
	served(ours, "bin/loadtest holder", []column{
		{name: "redislock", holder: "redis", backend: oneRedis, keeps: watchdog + goRedis},
		{name: "redislock fenced", holder: "redis-fenced", backend: oneRedis, fenced: true,
			keeps: watchdog + goRedis},
		{name: "redislock replicated", holder: "redis-replicated", backend: replicatedRedis, returns: following,
			keeps: watchdog + goRedis + "; WAIT of 0.5 s"},
		{name: "redisson", holder: "redisson", backend: oneRedis, keeps: watchdog + goRedis},
		{name: "redisson fair", holder: "redisson-fair", backend: oneRedis, keeps: watchdog + goRedis},
		{name: "redisson fenced", holder: "redisson-fenced", backend: oneRedis, fenced: true,
			keeps: watchdog + goRedis},
		{name: "redisson multi of three", holder: "redisson-multi", backend: threeRedis,
			keeps: watchdog + goRedis + " for each Redis"},
		{name: "redlock of five", holder: "redlock", backend: fiveRedis,
			keeps: watchdog + goRedis + "; 0.5 s for each node"},
		{name: "MySQL rows", holder: "mysql", backend: mysqlServer, fenced: true,
			keeps: watchdog + "10 s for a statement"},
		{name: "GET_LOCK", holder: "getlock", backend: mysqlServer, bound: true,
			keeps: "held by its connection, which is asked every third of the lease"},
		{name: "ZooKeeper", holder: "zk", backend: zookeeperServer, fenced: true, keeps: session},
		{name: "ZooKeeper of three", holder: "zk", backend: threeZooKeeper, fenced: true, returns: electing,
			keeps: session},
		{name: "etcd", holder: "etcd", backend: etcdServer, fenced: true, keeps: watchdog + "etcd's lease"},
		{name: "etcd of three", holder: "etcd", backend: threeEtcd, fenced: true, returns: electing,
			keeps: watchdog + "etcd's lease"},
		{name: "memcached", holder: "memcache", backend: memcachedServer, keeps: watchdog + "0.5 s for a reply"},
	}),
	served(peer, "bin/bench-peers holder", []column{
		{name: "bsm/redislock", holder: "bsm", backend: oneRedis, keeps: ownLoop + patient},
		{name: "redsync", holder: "redsync", backend: oneRedis, keeps: ownLoop + patient},
		{name: "redsync of five", holder: "redsync", backend: fiveRedis, keeps: ownLoop + patient},
		{name: "rueidislock", holder: "rueidislock", backend: oneRedis,
			keeps: "extended every half of the lease by its client"},
		{name: "etcd's Mutex", holder: "etcd-mutex", backend: etcdServer, keeps: session},
		{name: "etcd's Mutex of three", holder: "etcd-mutex", backend: threeEtcd, keeps: session},
		{name: "go-zookeeper's Lock", holder: "zookeeper", backend: zookeeperServer, keeps: session},
	}),
	[]column{
		{name: "redis-py", kind: peer, backend: oneRedis, command: redisPy, needs: python,
			keeps: ownLoop + "redis-py with 5 s for a reply and ten retries"},
		{name: "Node's redlock", kind: peer, backend: fiveRedis, command: nodeRedlock, needs: nodeModule,
			keeps: "extended 0.5 s before its end by its client; ioredis without a limit for a reply"},
		{name: "Redisson's RLock", kind: peer, backend: oneRedis, command: redissons,
			needs: javaClasses, keeps: redissonOwn},
		{name: "Redisson's fair lock", kind: peer, backend: oneRedis, command: redissons + " fair",
			needs: javaClasses, keeps: redissonOwn},
		{name: "Redisson's MultiLock", kind: peer, backend: threeRedis, command: redissons + " multi",
			needs: javaClasses, keeps: redissonOwn},
		{name: "RedissonRedLock", kind: peer, backend: fiveRedis, command: redissons + " redlock",
			needs: javaClasses, keeps: redissonOwn},
		{name: "Curator", kind: peer, backend: zookeeperServer, command: curator, needs: javaClasses, keeps: session},
	},
	served(control, "bin/loadtest holder", []column{
		{name: "no lock", holder: "none", backend: oneRedis, keeps: "no lock"},
		{name: "SETNX without owner", holder: "setnx-no-owner", backend: oneRedis,
			keeps: "not extended; " + controlled},
		{name: "lease from the reply", holder: "lease-from-reply", backend: oneRedis, keeps: ownLoop + controlled},
	}),
)

// served returns list with the kind and the command of all its locks.
func served(k kind, command string, list []column) []column {
	for i := range list {
		list[i].kind, list[i].command = k, command
	}
	return list
}

// lacks returns what is missing to try c, or nothing.
func (c column) lacks() string {
	if _, err := os.Stat(c.needs); c.needs != "" && err != nil {
		return "its holder is not built (make holders)"
	}
	if c.backend.elects && os.Geteuid() != 0 {
		return "hosts of their own need root"
	}
	return ""
}

// optional says that a whole run may lack c.
func (c column) optional() bool { return c.needs != "" || c.backend.elects }

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

// chosen returns the columns and rows of the setting CELL, of which either part may be
// absent, or the column of LOCK and BACKEND.
func chosen(lock, cell string) (locks []column, faults []row, err error) {
	name, fault, _ := strings.Cut(cell, "/")
	faults, err = named(rows, func(r row) string { return r.name }, fault)
	if err != nil {
		return nil, nil, fmt.Errorf("CELL=%q: the fault: %w", cell, err)
	}
	if lock != "" {
		b, ok := backends[os.Getenv("BACKEND")]
		if !ok {
			return nil, nil, fmt.Errorf("BACKEND=%q: want one of %s", os.Getenv("BACKEND"),
				strings.Join(slices.Sorted(maps.Keys(backends)), ", "))
		}
		return []column{{name: "LOCK", backend: b, command: lock, kind: peer, keeps: lock}}, faults, nil
	}
	locks, err = named(columns, func(c column) string { return c.name }, name)
	if err != nil {
		return nil, nil, fmt.Errorf("CELL=%q: the lock: %w", cell, err)
	}
	if locks = possibleOf(locks); len(locks) == 0 {
		return nil, nil, errors.New("there is nothing to try")
	}
	return locks, faults, nil
}

// slug returns name as a part of CELL.
func slug(name string) string {
	return strings.NewReplacer(" ", "-", "/", "-", "'", "", ":", "", ",", "").Replace(strings.ToLower(name))
}

// named returns the one of list whose name is part in CELL, or all if there is no part.
func named[T any](list []T, name func(T) string, part string) ([]T, error) {
	if part == "" {
		return list, nil
	}
	var all []string
	for i, one := range list {
		all = append(all, slug(name(one)))
		if all[i] == part {
			return list[i : i+1], nil
		}
	}
	slices.Sort(all)
	return nil, fmt.Errorf("want one of %s", strings.Join(all, ", "))
}
