package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/bradfitz/gomemcache/memcache"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/lock/etcdlock"
	"example.com/flashsale/internal/lock/memcachelock"
	"example.com/flashsale/internal/lock/mysqllock"
	"example.com/flashsale/internal/lock/redislock"
	"example.com/flashsale/internal/lock/redisson"
	"example.com/flashsale/internal/lock/redlock"
	"example.com/flashsale/internal/lock/zklock"
)

// locks lists the values of LOCK.
var locks = []string{"redis", "redisson", "redlock", "mysql", "getlock", "zk", "etcd", "memcache", "local", "none"}

// openLocker opens the lock driver that LOCK names, and the connections it needs
// beside the pools.
func openLocker(cfg config, p pools, opened *closers) (lock.Locker, error) {
	switch cfg.Lock {
	case "redis":
		return redislock.Batched(p.rdb), nil
	case "redisson":
		return redisson.New(p.rdb, redisson.Auto).Lock(), nil // the fenced lock would leave a key for every user
	case "redlock":
		return openRedlock(cfg, opened)
	case "mysql":
		return openRows(cfg, opened)
	case "getlock":
		return openNamed(cfg, opened)
	case "zk":
		return openZooKeeper(cfg, opened)
	case "etcd":
		return openEtcd(cfg, opened)
	case "memcache":
		return openMemcache(cfg, opened), nil
	case "local":
		return lock.Local(), nil
	case "none":
		return lock.None(), nil
	default:
		return nil, fmt.Errorf("LOCK: unknown value %q", cfg.Lock)
	}
}

// openRedlock opens a lock over the servers of REDLOCK_URLS.
func openRedlock(cfg config, opened *closers) (lock.Locker, error) {
	var nodes []lock.Locker
	for _, url := range cfg.RedlockURLs {
		rdb, err := opened.redis(url, cfg.RedisConns)
		if err != nil {
			return nil, fmt.Errorf("REDLOCK_URLS: %w", err)
		}
		nodes = append(nodes, redislock.New(rdb))
	}
	return redlock.New(nodes...), nil
}

// openRows opens a pool of its own, so that locks do not wait for connections
// that claims hold.
func openRows(cfg config, opened *closers) (lock.Locker, error) {
	db, err := opened.mysql(cfg.MySQLDSN, cfg.MySQLConns)
	if err != nil {
		return nil, err
	}
	return mysqllock.NewRows(db), nil
}

func openNamed(cfg config, opened *closers) (lock.Locker, error) {
	named, err := mysqllock.OpenNamed(cfg.MySQLDSN, cfg.MySQLConns)
	if err != nil {
		return nil, err
	}
	opened.addCloser(named)
	return named, nil
}

// openZooKeeper opens a session whose timeout is LOCK_TTL: the lock of an
// instance that died remains until its session times out.
func openZooKeeper(cfg config, opened *closers) (lock.Locker, error) {
	session, err := zklock.Open(strings.Split(cfg.ZKAddr, ","), cfg.LockTTL)
	if err != nil {
		return nil, fmt.Errorf("ZK_ADDR: %w", err)
	}
	opened.add(session.Close)
	return session, nil
}

func openEtcd(cfg config, opened *closers) (lock.Locker, error) {
	client, err := clientv3.New(clientv3.Config{Endpoints: strings.Split(cfg.EtcdAddr, ","), DialTimeout: 2 * time.Second, Logger: zap.NewNop()})
	if err != nil {
		return nil, fmt.Errorf("ETCD_ADDR: %w", err)
	}
	opened.addCloser(client)
	return etcdlock.New(client), nil
}

func openMemcache(cfg config, opened *closers) lock.Locker {
	client := memcache.New(strings.Split(cfg.MemcacheAddr, ",")...)
	client.Timeout, client.MaxIdleConns = time.Second, cfg.RedisConns
	opened.addCloser(client)
	return memcachelock.New(client)
}
