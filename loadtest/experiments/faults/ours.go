package faults

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bradfitz/gomemcache/memcache"
	"github.com/redis/go-redis/v9"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"example.com/flashsale/internal/connect"
	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/lock/etcdlock"
	"example.com/flashsale/internal/lock/memcachelock"
	"example.com/flashsale/internal/lock/mysqllock"
	"example.com/flashsale/internal/lock/redislock"
	"example.com/flashsale/internal/lock/redisson"
	"example.com/flashsale/internal/lock/redlock"
	"example.com/flashsale/internal/lock/zklock"
	"example.com/flashsale/loadtest/holder"
)

// conns is how many connections a holder has at most.
const conns = 4

// holders opens the lock of a holder of this repository, by its name. The servers
// are in the environment, as docs/locks.md says.
var holders = map[string]func(ctx context.Context) (holder.Lock, error){
	"redislock":         overRedis(func(rdb redis.UniversalClient) lock.Locker { return redislock.New(rdb) }),
	"redislock-batched": overRedis(func(rdb redis.UniversalClient) lock.Locker { return redislock.Batched(rdb) }),
	"redislock-fenced":  overRedis(func(rdb redis.UniversalClient) lock.Locker { return redislock.Fenced(rdb) }),
	"redislock-replicated": func(ctx context.Context) (holder.Lock, error) {
		rdb, err := openRedis(servers("REDIS_ADDRS")[0])
		if err != nil {
			return nil, err
		}
		return fromLocker(redislock.Replicated(ctx, rdb, 1, 500*time.Millisecond))
	},
	"redisson": overRedis(func(rdb redis.UniversalClient) lock.Locker {
		return redisson.New(rdb, redisson.Auto).Lock()
	}),
	"redisson-fair": overRedis(func(rdb redis.UniversalClient) lock.Locker {
		return redisson.New(rdb, redisson.Auto).FairLock()
	}),
	"redisson-fenced": overRedis(func(rdb redis.UniversalClient) lock.Locker {
		return redisson.New(rdb, redisson.Auto).FencedLock()
	}),
	"redisson-multi": openMulti,

	"redlock":   openRedlock,
	"rows":      openRows,
	"getlock":   openNamed,
	"zookeeper": openZooKeeper,
	"etcd":      openEtcd,
	"memcached": openMemcached,

	"no-lock":          func(context.Context) (holder.Lock, error) { return fromLocker(lock.None(), nil) },
	"setnx-no-owner":   patient(func(rdb redis.UniversalClient) holder.Lock { return withoutOwner{rdb} }),
	"lease-from-reply": patient(func(rdb redis.UniversalClient) holder.Lock { return leaseFromReply{rdb} }),
}

// Holder is the holder that HOLDER names. The experiment starts it.
func Holder(ctx context.Context) error {
	name := os.Getenv("HOLDER")
	open, ok := holders[name]
	if !ok {
		return fmt.Errorf("HOLDER=%q: want one of %s", name,
			strings.Join(slices.Sorted(maps.Keys(holders)), ", "))
	}
	l, err := open(ctx)
	if err != nil {
		return err
	}
	if waiters, err := strconv.Atoi(os.Getenv("WAITERS")); err == nil {
		l = holder.Waiters(l, waiters)
	}
	return holder.Serve(ctx, os.Stdin, os.Stdout, l)
}

// servers returns the addresses in the variable name.
func servers(name string) []string { return strings.Split(os.Getenv(name), ",") }

func openRedis(address string) (redis.UniversalClient, error) {
	return connect.Redis("redis://"+address, conns)
}

func fromLocker(l lock.Locker, err error) (holder.Lock, error) {
	if err != nil {
		return nil, err
	}
	return holder.FromClient(lock.New(l)), nil
}

// overRedis opens a locker on the first Redis.
func overRedis(open func(redis.UniversalClient) lock.Locker) func(context.Context) (holder.Lock, error) {
	return func(context.Context) (holder.Lock, error) {
		rdb, err := openRedis(servers("REDIS_ADDRS")[0])
		if err != nil {
			return nil, err
		}
		return fromLocker(open(rdb), nil)
	}
}

// patient opens a control on the first Redis, with a client that waits for a reply
// for longer than any lease.
func patient(open func(redis.UniversalClient) holder.Lock) func(context.Context) (holder.Lock, error) {
	return func(context.Context) (holder.Lock, error) {
		return open(redis.NewClient(&redis.Options{
			Addr: servers("REDIS_ADDRS")[0], ReadTimeout: time.Minute, MaxRetries: -1,
		})), nil
	}
}

func openMulti(context.Context) (holder.Lock, error) {
	var parts []redisson.Part
	for _, address := range servers("REDIS_ADDRS") {
		rdb, err := openRedis(address)
		if err != nil {
			return nil, err
		}
		parts = append(parts, redisson.Part{Locker: redisson.New(rdb, redisson.Auto).Lock()})
	}
	return fromLocker(redisson.NewMultiLock(parts...), nil)
}

func openRedlock(context.Context) (holder.Lock, error) {
	var nodes []lock.Locker
	for _, address := range servers("REDIS_ADDRS") {
		rdb, err := openRedis(address)
		if err != nil {
			return nil, err
		}
		nodes = append(nodes, redislock.New(rdb))
	}
	return fromLocker(redlock.New(nodes...), nil)
}

// dsn is the database of docs/locks.md.
func dsn() string { return fmt.Sprintf("root@tcp(%s)/locks", os.Getenv("MYSQL_ADDR")) }

func openRows(context.Context) (holder.Lock, error) {
	db, err := connect.MySQL(dsn(), conns)
	if err != nil {
		return nil, err
	}
	return fromLocker(mysqllock.NewRows(db), nil)
}

func openNamed(context.Context) (holder.Lock, error) {
	named, err := mysqllock.OpenNamed(dsn(), conns)
	return fromLocker(named, err)
}

// openZooKeeper opens a session that ends with the lease.
func openZooKeeper(context.Context) (holder.Lock, error) {
	lease, err := time.ParseDuration(os.Getenv("LEASE") + "ms")
	if err != nil {
		return nil, err
	}
	session, err := zklock.Open(servers("ZOOKEEPER_ADDRS"), lease)
	return fromLocker(session, err)
}

func openEtcd(context.Context) (holder.Lock, error) {
	client, err := clientv3.New(clientv3.Config{
		Endpoints: servers("ETCD_ADDRS"), DialTimeout: 2 * time.Second,
		DialKeepAliveTime: 10 * time.Second, DialKeepAliveTimeout: 2 * time.Second, Logger: zap.NewNop(),
	})
	if err != nil {
		return nil, err
	}
	return fromLocker(etcdlock.New(client), nil)
}

func openMemcached(context.Context) (holder.Lock, error) {
	list := new(memcache.ServerList)
	err := list.SetServers(os.Getenv("MEMCACHED_ADDR"))
	return fromLocker(memcachelock.New(memcache.NewFromSelector(list)), err)
}
