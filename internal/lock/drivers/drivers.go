// Package drivers opens each lock of this repository by its name.
package drivers

import (
	"context"
	"fmt"
	"time"

	"github.com/bradfitz/gomemcache/memcache"
	"github.com/redis/go-redis/v9"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"

	"example.com/flashsale/internal/connect"
	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/lock/etcdlock"
	"example.com/flashsale/internal/lock/memcachelock"
	"example.com/flashsale/internal/lock/mysqllock"
	"example.com/flashsale/internal/lock/redislock"
	"example.com/flashsale/internal/lock/redisson"
	"example.com/flashsale/internal/lock/redlock"
	"example.com/flashsale/internal/lock/zklock"
)

// Remote lists the drivers that the service offers whose lock excludes other processes.
// Commands, experiments and pages that offer every lock take them from here.
var Remote = []string{"redis", "redisson", "redlock", "mysql", "getlock", "zk", "etcd", "memcache"}

// Servers are where locks are kept, and how a driver connects to them.
type Servers struct {
	// Redis are pools that the caller closes. A lock over one server takes the first.
	Redis                      []redis.UniversalClient
	MySQL                      string // the DSN
	MySQLOptions               []connect.Option
	ZooKeeper, Etcd, Memcached []string      // addresses
	Conns                      int           // of a pool that Open opens, at most
	Session                    time.Duration // how long ZooKeeper keeps the locks of a process that died
}

// An Opened is a lock with its connections.
type Opened struct {
	Locker lock.Locker
	Ping   func(context.Context) error // nil if the server is Redis or MySQL
	Close  func()                      // ends what Open has opened
}

// Open opens the lock that name names: one of Remote, local, none, or a variant that
// only experiments use. It connects to no server, but for redis-replicated.
func Open(ctx context.Context, name string, s Servers) (Opened, error) {
	open, ok := drivers[name]
	if !ok {
		return Opened{}, fmt.Errorf("no lock %q", name)
	}
	return open(ctx, s)
}

type opener func(context.Context, Servers) (Opened, error)

var drivers = map[string]opener{
	"redis":            over(func(s Servers) lock.Locker { return redislock.New(s.Redis[0]) }),
	"redis-fenced":     over(func(s Servers) lock.Locker { return redislock.Fenced(s.Redis[0]) }),
	"redis-replicated": openReplicated,
	"redisson":         over(func(s Servers) lock.Locker { return redisson.New(s.Redis[0]).Lock() }),
	"redisson-fair":    over(func(s Servers) lock.Locker { return redisson.New(s.Redis[0]).FairLock() }),
	"redisson-fenced":  over(func(s Servers) lock.Locker { return redisson.New(s.Redis[0]).FencedLock() }),
	"redisson-multi":   over(multi),
	"redlock":          over(majority),
	"mysql":            openRows,
	"getlock":          openNamed,
	"zk":               openZooKeeper,
	"etcd":             openEtcd,
	"memcache":         openMemcache,
	"local":            over(func(Servers) lock.Locker { return lock.Local() }),
	"none":             over(func(Servers) lock.Locker { return lock.None() }),
}

// over returns an opener of a lock that opens no connection.
func over(open func(Servers) lock.Locker) opener {
	return func(_ context.Context, s Servers) (Opened, error) { return Opened{open(s), nil, func() {}}, nil }
}

func openReplicated(ctx context.Context, s Servers) (Opened, error) {
	l, err := redislock.Replicated(ctx, s.Redis[0], 1, 500*time.Millisecond)
	return Opened{l, nil, func() {}}, err
}

func multi(s Servers) lock.Locker {
	var parts []redisson.Part
	for _, rdb := range s.Redis {
		parts = append(parts, redisson.Part{Locker: redisson.New(rdb).Lock()})
	}
	return redisson.NewMultiLock(parts...)
}

func majority(s Servers) lock.Locker {
	var nodes []lock.Locker
	for _, rdb := range s.Redis {
		nodes = append(nodes, redislock.New(rdb))
	}
	return redlock.New(nodes...)
}

// openRows opens a pool of its own, so that locks do not wait for connections that
// claims hold.
func openRows(_ context.Context, s Servers) (Opened, error) {
	db, err := connect.MySQL(s.MySQL, s.Conns, append(s.MySQLOptions, connect.ShortTransactions)...)
	if err != nil {
		return Opened{}, err
	}
	return Opened{mysqllock.NewRows(db), nil, func() { _ = db.Close() }}, nil
}

func openNamed(_ context.Context, s Servers) (Opened, error) {
	named, err := mysqllock.OpenNamed(s.MySQL, s.Conns)
	if err != nil {
		return Opened{}, err
	}
	return Opened{named, nil, func() { _ = named.Close() }}, nil
}

func openZooKeeper(_ context.Context, s Servers) (Opened, error) {
	session, err := zklock.Open(s.ZooKeeper, s.Session)
	if err != nil {
		return Opened{}, err
	}
	return Opened{session, session.Ping, session.Close}, nil
}

// dialling tries again within a second. By default gRPC waits for up to two minutes when a server
// has been away for as long, and the instance would not be ready before.
var dialling = grpc.ConnectParams{
	MinConnectTimeout: 2 * time.Second,
	Backoff: backoff.Config{
		BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: time.Second,
	},
}

// openEtcd opens a client that notices a silent member; otherwise every request that is
// sent to it would wait for its own end.
func openEtcd(_ context.Context, s Servers) (Opened, error) {
	client, err := clientv3.New(clientv3.Config{
		Endpoints: s.Etcd, DialTimeout: 2 * time.Second,
		DialKeepAliveTime: 10 * time.Second, DialKeepAliveTimeout: 2 * time.Second, Logger: zap.NewNop(),
		DialOptions: []grpc.DialOption{grpc.WithConnectParams(dialling)},
	})
	if err != nil {
		return Opened{}, err
	}
	l := etcdlock.New(client)
	return Opened{l, l.Ping, func() { _ = client.Close() }}, nil
}

func openMemcache(_ context.Context, s Servers) (Opened, error) {
	client := memcache.NewFromSelector(memcachelock.Servers(s.Memcached...))
	client.MaxIdleConns = s.Conns
	l := memcachelock.New(client)
	return Opened{l, l.Ping, func() { _ = client.Close() }}, nil
}
