package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bradfitz/gomemcache/memcache"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"example.com/flashsale/internal/httpapi"
	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/lock/driver"
	"example.com/flashsale/internal/lock/etcdlock"
	"example.com/flashsale/internal/lock/memcachelock"
	"example.com/flashsale/internal/lock/mysqllock"
	"example.com/flashsale/internal/lock/redislock"
	"example.com/flashsale/internal/lock/redisson"
	"example.com/flashsale/internal/lock/redlock"
	"example.com/flashsale/internal/lock/zklock"
)

// locks lists the values of LOCK.
var locks = slices.Concat(driver.Remote, []string{"local", "none"})

// openLocker opens the lock driver that LOCK names, and the connections it needs
// beside the pools. It also returns a probe of the driver's own server, unless
// the driver uses MySQL or Redis, which are probed anyway.
func openLocker(cfg config, p pools, opened *closers) (lock.Locker, []httpapi.Probe, error) {
	switch cfg.Lock {
	case "redis":
		return redislock.Batched(p.rdb), nil, nil
	case "redisson":
		return redisson.New(p.rdb, redisson.Auto).Lock(), nil, nil // the fenced lock would leave a key for every user
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
		return openMemcache(cfg, opened)
	case "local":
		return lock.Local(), nil, nil
	case "none":
		return lock.None(), nil, nil
	default:
		return nil, nil, fmt.Errorf("LOCK: unknown value %q", cfg.Lock)
	}
}

// openRedlock opens a lock over the servers of REDLOCK_URLS.
func openRedlock(cfg config, opened *closers) (lock.Locker, []httpapi.Probe, error) {
	var nodes, probed []lock.Locker
	for _, url := range cfg.RedlockURLs {
		rdb, err := opened.redis(url, cfg.RedisConns)
		if err != nil {
			return nil, nil, fmt.Errorf("REDLOCK_URLS: %w", err)
		}
		probeRDB, err := opened.redis(url, 1)
		if err != nil {
			return nil, nil, fmt.Errorf("REDLOCK_URLS: %w", err)
		}
		nodes, probed = append(nodes, redislock.New(rdb)), append(probed, redislock.New(probeRDB))
	}
	key := cfg.probeKey()
	check := func(ctx context.Context) error { return lockMajority(ctx, key, probed) }
	return redlock.New(nodes...), []httpapi.Probe{{Name: "redlock", Check: check}}, nil
}

// lockMajority returns nil as soon as a majority of the servers has locked key.
func lockMajority(ctx context.Context, key string, servers []lock.Locker) error {
	results := make(chan error, len(servers))
	for _, l := range servers {
		go func() { results <- explained(tryLock(ctx, l, key)) }()
	}
	locked, errs := 0, []error(nil)
	for range servers {
		if err := <-results; err != nil {
			errs = append(errs, err)
		} else if locked++; locked > len(servers)/2 {
			return nil
		}
	}
	return errors.Join(errs...)
}

// openRows opens a pool of its own, so that locks do not wait for connections
// that claims hold.
func openRows(cfg config, opened *closers) (lock.Locker, []httpapi.Probe, error) {
	db, err := opened.mysql(cfg.MySQLDSN, cfg.MySQLConns)
	if err != nil {
		return nil, nil, err
	}
	return mysqllock.NewRows(db), nil, nil
}

func openNamed(cfg config, opened *closers) (lock.Locker, []httpapi.Probe, error) {
	named, err := mysqllock.OpenNamed(cfg.MySQLDSN, cfg.MySQLConns)
	if err != nil {
		return nil, nil, err
	}
	opened.addCloser(named)
	return named, nil, nil
}

// openZooKeeper opens a session whose timeout is LOCK_TTL: the lock of an
// instance that died remains until its session times out.
func openZooKeeper(cfg config, opened *closers) (lock.Locker, []httpapi.Probe, error) {
	session, err := zklock.Open(strings.Split(cfg.ZKAddr, ","), cfg.LockTTL)
	if err != nil {
		return nil, nil, fmt.Errorf("ZK_ADDR: %w", err)
	}
	opened.add(session.Close)
	return session, []httpapi.Probe{{Name: "zk", Check: session.Ping}}, nil
}

// openEtcd opens a client that notices a silent member; otherwise every request
// that is sent to it would wait for its own end.
func openEtcd(cfg config, opened *closers) (lock.Locker, []httpapi.Probe, error) {
	client, err := clientv3.New(clientv3.Config{
		Endpoints: strings.Split(cfg.EtcdAddr, ","), DialTimeout: 2 * time.Second,
		DialKeepAliveTime: 10 * time.Second, DialKeepAliveTimeout: 2 * time.Second, Logger: zap.NewNop(),
	})
	if err != nil {
		return nil, nil, fmt.Errorf("ETCD_ADDR: %w", err)
	}
	opened.addCloser(client)
	locker := etcdlock.New(client)
	return locker, []httpapi.Probe{{Name: "etcd", Check: locker.Ping}}, nil
}

// openMemcache resolves the names of the servers, once: the client would go on
// without any server if that failed.
func openMemcache(cfg config, opened *closers) (lock.Locker, []httpapi.Probe, error) {
	servers, err := memcachelock.Servers(strings.Split(cfg.MemcacheAddr, ",")...)
	if err != nil {
		return nil, nil, fmt.Errorf("MEMCACHE_ADDR: %w", err)
	}
	client := memcache.NewFromSelector(servers)
	client.MaxIdleConns = cfg.RedisConns
	opened.addCloser(client)
	locker := memcachelock.New(client)
	return locker, []httpapi.Probe{{Name: "memcache", Check: locker.Ping}}, nil
}
