package faults

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bradfitz/gomemcache/memcache"
	"github.com/jmoiron/sqlx"
	"github.com/redis/go-redis/v9"

	"example.com/flashsale/internal/connect"
	"example.com/flashsale/internal/lab"
	"example.com/flashsale/migrations"
)

// A backend is what a lock keeps its keys in.
type backend struct {
	name     string
	variable string                                          // the holder's, with the addresses of the nodes
	start    func(context.Context, *lab.Lab) ([]node, error) // nil without nodes
	elects   bool                                            // its nodes elect a leader, and have hosts of their own
	has      []property
}

// A property is what a row needs of a backend. Its text says why it does not apply to another.
type property string

const (
	durable   property = "keeps no data" // has its data when it is restarted
	empty     property = "keeps its data"
	majority  property = "needs all of its servers" // goes on with a majority of them
	failsOver property = "no failover of this kind" // another server may replace one, without its locks
	forgets   property = "no command deletes its locks"
	evicts    property = "BACKEND evicts no lock here"
	steps     property = "the clock of BACKEND cannot be stepped here"
	// manyWaiters is what each lock of ours has, whatever its backend.
	manyWaiters property = "the protocol has one waiter for each holder"
)

// A node is one server of a backend. What its backend cannot do is nil.
type node struct {
	*lab.Server
	// forget deletes all locks, as an operator's mistake does.
	forget func(ctx context.Context) error
	// evict makes the server evict all locks, as it does when its memory is full.
	evict func(ctx context.Context) error
	// step sets the server's clock to a difference from the machine's.
	step func(d time.Duration) error
	// host is where a node of an ensemble runs.
	host *lab.Host
}

// The variables with the addresses.
const (
	redisAddrs     = "REDIS_ADDRS"
	mysqlAddr      = "MYSQL_ADDR"
	etcdAddrs      = "ETCD_ADDRS"
	zookeeperAddrs = "ZOOKEEPER_ADDRS"
	memcachedAddr  = "MEMCACHED_ADDR"
)

// The backends.
var (
	oneRedis  = redisBackend("Redis", 1)
	fiveRedis = redisBackend("five Redis", 5, majority)
	// A lock over three takes all of them.
	threeRedis = redisBackend("three Redis", 3)
	// The lock needs a replica, which no holder reaches.
	replicatedRedis = &backend{name: "Redis with a replica", variable: redisAddrs, start: startReplicatedRedis,
		has: []property{empty, forgets, evicts}}
	mysqlServer = &backend{name: "MySQL", variable: mysqlAddr, start: startMySQL, has: []property{durable, forgets}}
	etcdServer  = &backend{name: "etcd", variable: etcdAddrs, start: startServer(lab.StartEtcd),
		has: []property{durable}}
	threeEtcd = &backend{name: "three etcd", variable: etcdAddrs, start: startMembers(lab.StartEtcdEnsemble),
		elects: true, has: []property{durable, majority}}
	zookeeperServer = &backend{name: "ZooKeeper", variable: zookeeperAddrs, start: startZooKeeper,
		has: []property{durable}}
	threeZooKeeper = &backend{name: "three ZooKeeper", variable: zookeeperAddrs,
		start: startMembers(lab.StartZooKeeperEnsemble), elects: true, has: []property{durable, majority}}
	memcachedServer = &backend{name: "memcached", variable: memcachedAddr, start: startMemcached,
		has: []property{empty, forgets}}
	// A holder with servers of its own is only stopped and killed.
	noServer = &backend{name: "servers of its own", has: []property{durable}}
)

func redisBackend(name string, nodes int, also ...property) *backend {
	return &backend{name: name, variable: redisAddrs, start: startRedis(nodes),
		has: append(also, empty, failsOver, forgets, evicts, steps)}
}

// backends are what LOCK may be tried on, by the value of BACKEND.
var backends = map[string]*backend{
	"redis": oneRedis, "redis3": threeRedis, "redis5": fiveRedis, "mysql": mysqlServer, "etcd": etcdServer,
	"etcd3": threeEtcd, "zookeeper": zookeeperServer, "zookeeper3": threeZooKeeper, "memcached": memcachedServer,
	"none": noServer,
}

// startRedis returns a function that starts n servers.
func startRedis(n int) func(context.Context, *lab.Lab) ([]node, error) {
	return func(_ context.Context, l *lab.Lab) (nodes []node, err error) {
		for range n {
			r, err := lab.StartSteppedRedis(l)
			if err != nil {
				return nil, err
			}
			n := redisNode(r.Redis)
			n.step = r.Step
			nodes = append(nodes, n)
		}
		return nodes, nil
	}
}

func redisNode(r *lab.Redis) node {
	rdb := redis.NewClient(&redis.Options{Addr: r.Address})
	return node{
		Server: r.Server,
		evict:  func(ctx context.Context) error { return evictRedis(ctx, rdb) },
		forget: func(ctx context.Context) error { return rdb.FlushAll(ctx).Err() },
	}
}

// evictRedis leaves the server too little memory until it has evicted all keys.
func evictRedis(ctx context.Context, rdb *redis.Client) error {
	ctx, cancel := context.WithTimeout(ctx, leaseTime)
	defer cancel()
	err := errors.Join(rdb.ConfigSet(ctx, "maxmemory-policy", "allkeys-lru").Err(),
		rdb.ConfigSet(ctx, "maxmemory", "1").Err())
	for keys := int64(1); keys > 0 && err == nil; {
		keys, err = rdb.DBSize(ctx).Result()
	}
	return errors.Join(err, rdb.ConfigSet(context.WithoutCancel(ctx), "maxmemory", "0").Err())
}

func startReplicatedRedis(_ context.Context, l *lab.Lab) ([]node, error) {
	master, err := lab.StartRedisTCP(l)
	if err != nil {
		return nil, err
	}
	_, err = lab.StartReplicas(l, master, 1)
	return []node{redisNode(master)}, err
}

// startServer returns a function that starts one server.
func startServer(start func(*lab.Lab) (*lab.Server, error)) func(context.Context, *lab.Lab) ([]node, error) {
	return func(_ context.Context, l *lab.Lab) ([]node, error) {
		s, err := start(l)
		return []node{{Server: s}}, err
	}
}

func startZooKeeper(_ context.Context, l *lab.Lab) ([]node, error) {
	z, err := lab.StartZooKeeper(l)
	return []node{{Server: z.Server}}, err
}

func startMemcached(_ context.Context, l *lab.Lab) ([]node, error) {
	m, err := lab.StartMemcached(l)
	forget := func(context.Context) error { return memcache.New(m.Address).FlushAll() }
	return []node{{Server: m, forget: forget}}, err
}

// startMembers returns a function that starts an ensemble.
func startMembers(start func(*lab.Lab) (*lab.Ensemble, error)) func(context.Context, *lab.Lab) ([]node, error) {
	return func(_ context.Context, l *lab.Lab) (nodes []node, err error) {
		e, err := start(l)
		if err != nil {
			return nil, err
		}
		for _, m := range e.Members {
			nodes = append(nodes, node{Server: m.Server, host: m.Host})
		}
		return nodes, nil
	}
}

// startMySQL starts a server that has the table of package mysqllock.
func startMySQL(ctx context.Context, l *lab.Lab) ([]node, error) {
	m, err := lab.StartMySQLTCP(l)
	if err != nil {
		return nil, err
	}
	dsn, err := m.Create(ctx, "locks")
	if err != nil {
		return nil, err
	}
	db, err := connect.MySQL(dsn, 1)
	if err != nil {
		return nil, err
	}
	forget := func(ctx context.Context) error { return forgetMySQL(ctx, db) }
	return []node{{Server: m.Server, forget: forget}}, migrations.Up(ctx, db.DB)
}

// forgetMySQL deletes the rows and ends the connections that hold GET_LOCKs.
func forgetMySQL(ctx context.Context, db *sqlx.DB) error {
	if _, err := db.ExecContext(ctx, "DELETE FROM locks"); err != nil {
		return err
	}
	var holders []int
	const others = "SELECT id FROM information_schema.processlist WHERE id <> CONNECTION_ID() AND command = 'Sleep'"
	err := db.SelectContext(ctx, &holders, others)
	for _, id := range holders {
		_, _ = db.ExecContext(ctx, fmt.Sprintf("KILL %d", id)) // it may have ended
	}
	return err
}
