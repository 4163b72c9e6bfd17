package faults

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/bradfitz/gomemcache/memcache"
	"github.com/redis/go-redis/v9"

	"example.com/flashsale/internal/connect"
	"example.com/flashsale/internal/lab"
	"example.com/flashsale/migrations"
)

// A backend is what a lock keeps its keys in.
type backend struct {
	name      string
	nodes     int
	variable  string // the holder's, with the addresses of the nodes
	start     func(ctx context.Context, l *lab.Lab) (node, error)
	durable   bool // a node that is killed and restarted has its data
	majority  bool // a majority of its nodes is enough
	failsOver bool // another node may take the place of one, without its locks
	// ensemble starts nodes that elect a leader, instead of start.
	ensemble func(l *lab.Lab) (*lab.Ensemble, error)
}

// A node is one server of a backend. What it cannot do is nil.
type node struct {
	*lab.Server
	network, address string
	// forget deletes all locks, as an operator's mistake does.
	forget func(ctx context.Context) error
	// evict makes the server evict all locks, as it does when its memory is full.
	evict func(ctx context.Context) error
	// step sets the server's clock to a difference from the machine's.
	step func(d time.Duration) error
	// host is where a node of an ensemble runs.
	host *lab.Host
}

// open starts the nodes.
func (b *backend) open(ctx context.Context, l *lab.Lab) (nodes []node, err error) {
	if b.ensemble != nil {
		return b.openEnsemble(l)
	}
	for range b.nodes {
		n, err := b.start(ctx, l)
		if err != nil {
			return nil, err
		}
		nodes = append(nodes, n)
	}
	return nodes, nil
}

func (b *backend) openEnsemble(l *lab.Lab) (nodes []node, err error) {
	e, err := b.ensemble(l)
	if err != nil {
		return nil, err
	}
	for _, m := range e.Members {
		nodes = append(nodes, node{Server: m.Server, network: "tcp", address: m.Address, host: m.Host})
	}
	return nodes, nil
}

// The variables with the addresses.
const (
	redisAddrs     = "REDIS_ADDRS"
	etcdAddrs      = "ETCD_ADDRS"
	zookeeperAddrs = "ZOOKEEPER_ADDRS"
)

// The backends.
var (
	oneRedis  = &backend{name: "Redis", nodes: 1, variable: redisAddrs, start: startRedis, failsOver: true}
	fiveRedis = &backend{name: "five Redis", nodes: 5, variable: redisAddrs, start: startRedis, failsOver: true,
		majority: true}
	// A lock over three takes all of them.
	threeRedis = &backend{name: "three Redis", nodes: 3, variable: redisAddrs, start: startRedis, failsOver: true}
	// The lock needs a replica, which no holder reaches.
	replicatedRedis = &backend{name: "Redis with a replica", nodes: 1, variable: redisAddrs,
		start: startReplicatedRedis}
	mysqlServer = &backend{name: "MySQL", nodes: 1, variable: "MYSQL_ADDR", start: startMySQL, durable: true}
	etcdServer  = &backend{name: "etcd", nodes: 1, variable: etcdAddrs, durable: true,
		start: starts(lab.StartEtcd, func(e *lab.Server) node {
			return node{Server: e, network: "unix", address: strings.TrimPrefix(e.Address, "unix://")}
		})}
	zookeeperServer = &backend{name: "ZooKeeper", nodes: 1, variable: zookeeperAddrs, durable: true,
		start: starts(lab.StartZooKeeper, func(z *lab.ZooKeeper) node {
			return node{Server: z.Server, network: "tcp", address: z.Address}
		})}
	threeEtcd = &backend{name: "three etcd", nodes: 3, variable: etcdAddrs, ensemble: lab.StartEtcdEnsemble,
		durable: true, majority: true}
	threeZooKeeper = &backend{name: "three ZooKeeper", nodes: 3, variable: zookeeperAddrs,
		ensemble: lab.StartZooKeeperEnsemble, durable: true, majority: true}
	memcachedServer = &backend{name: "memcached", nodes: 1, variable: "MEMCACHED_ADDR",
		start: starts(lab.StartMemcached, func(m *lab.Server) node {
			return node{Server: m, network: "unix", address: m.Address,
				forget: func(context.Context) error { return memcache.New(m.Address).FlushAll() }}
		})}
	// A holder with servers of its own is only stopped and killed.
	noServer = &backend{name: "servers of its own", durable: true}
)

// backends are what LOCK may be tried on, by the value of BACKEND.
var backends = map[string]*backend{
	"redis": oneRedis, "redis3": threeRedis, "redis5": fiveRedis, "mysql": mysqlServer, "etcd": etcdServer,
	"etcd3": threeEtcd, "zookeeper": zookeeperServer, "zookeeper3": threeZooKeeper, "memcached": memcachedServer,
	"none": noServer,
}

// starts returns a function that starts a server as a node.
func starts[S any](start func(*lab.Lab) (S, error), as func(S) node) func(context.Context, *lab.Lab) (node, error) {
	return func(_ context.Context, l *lab.Lab) (node, error) {
		s, err := start(l)
		if err != nil {
			return node{}, err
		}
		return as(s), nil
	}
}

var startRedis = starts(lab.StartSteppedRedis, func(r *lab.SteppedRedis) node {
	n := redisNode(r.Redis)
	n.step = r.Step
	return n
})

func redisNode(r *lab.Redis) node {
	with := func(do func(context.Context, *redis.Client) error) func(context.Context) error {
		return func(ctx context.Context) error {
			rdb := redis.NewClient(&redis.Options{Addr: r.Address})
			defer rdb.Close()
			return do(ctx, rdb)
		}
	}
	return node{
		Server: r.Server, network: "tcp", address: r.Address, evict: with(evictRedis),
		forget: with(func(ctx context.Context, rdb *redis.Client) error { return rdb.FlushAll(ctx).Err() }),
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

func startReplicatedRedis(_ context.Context, l *lab.Lab) (node, error) {
	master, err := lab.StartRedisTCP(l)
	if err != nil {
		return node{}, err
	}
	_, err = lab.StartReplicas(l, master, 1)
	return redisNode(master), err
}

// startMySQL starts a server that has the table of package mysqllock.
func startMySQL(ctx context.Context, l *lab.Lab) (node, error) {
	m, err := lab.StartMySQL(l)
	if err != nil {
		return node{}, err
	}
	dsn, err := m.Create(ctx, "locks")
	if err != nil {
		return node{}, err
	}
	db, err := connect.MySQL(dsn, 1)
	if err != nil {
		return node{}, err
	}
	defer db.Close()
	if err := migrations.Up(ctx, db.DB); err != nil {
		return node{}, err
	}
	socket := strings.TrimSuffix(strings.TrimPrefix(dsn, "root@unix("), ")/locks")
	return node{
		Server: m.Server, network: "unix", address: socket,
		forget: func(ctx context.Context) error { return forgetMySQL(ctx, dsn) },
	}, nil
}

// forgetMySQL deletes the rows and ends the connections that hold GET_LOCKs.
func forgetMySQL(ctx context.Context, dsn string) error {
	db, err := connect.MySQL(dsn, 1)
	if err != nil {
		return err
	}
	defer db.Close()
	if _, err := db.ExecContext(ctx, "DELETE FROM locks"); err != nil {
		return err
	}
	var holders []int
	const others = "SELECT id FROM information_schema.processlist WHERE id <> CONNECTION_ID() AND command = 'Sleep'"
	if err := db.SelectContext(ctx, &holders, others); err != nil {
		return err
	}
	for _, id := range holders {
		_, _ = db.ExecContext(ctx, fmt.Sprintf("KILL %d", id)) // it may have ended
	}
	return nil
}
