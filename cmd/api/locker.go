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
func openLocker(cfg config, p pools, o *opened) (lock.Locker, []httpapi.Probe, error) {
	switch cfg.Lock {
	case "redis":
		return redislock.Batched(p.rdb), nil, nil
	case "redisson":
		return redisson.New(p.rdb, redisson.Auto).Lock(), nil, nil // the fenced lock would leave a key for every user
	case "redlock":
		return openRedlock(cfg, o)
	case "mysql":
		// its own pool, so that locks do not wait for connections that claims hold
		return mysqllock.NewRows(o.mysql(cfg.MySQLDSN, cfg.MySQLConns)), nil, o.err
	case "getlock":
		return openNamed(cfg, o)
	case "zk":
		return openZooKeeper(cfg, o)
	case "etcd":
		return openEtcd(cfg, o)
	case "memcache":
		return openMemcache(cfg, o)
	case "local":
		return lock.Local(), nil, nil
	case "none":
		return lock.None(), nil, nil
	default:
		return nil, nil, fmt.Errorf("LOCK: unknown value %q", cfg.Lock)
	}
}

// openRedlock opens a lock over the servers of REDLOCK_URLS.
func openRedlock(cfg config, o *opened) (lock.Locker, []httpapi.Probe, error) {
	var nodes, probed []lock.Locker
	for _, url := range cfg.RedlockURLs {
		rdb, probeRDB := o.redis(url, cfg.RedisConns), o.redis(url, 1)
		if o.err != nil {
			return nil, nil, fmt.Errorf("REDLOCK_URLS: %w", o.err)
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

func openNamed(cfg config, o *opened) (lock.Locker, []httpapi.Probe, error) {
	named, err := mysqllock.OpenNamed(cfg.MySQLDSN, cfg.MySQLConns)
	if err != nil {
		return nil, nil, err
	}
	o.addCloser(named)
	return named, nil, nil
}

// openZooKeeper opens a session whose timeout is LOCK_TTL: the lock of an
// instance that died remains until its session times out.
func openZooKeeper(cfg config, o *opened) (lock.Locker, []httpapi.Probe, error) {
	session, err := zklock.Open(strings.Split(cfg.ZKAddr, ","), cfg.LockTTL)
	if err != nil {
		return nil, nil, fmt.Errorf("ZK_ADDR: %w", err)
	}
	o.add(session.Close)
	return session, []httpapi.Probe{{Name: "zk", Check: session.Ping}}, nil
}

// openEtcd opens a client that notices a silent member; otherwise every request
// that is sent to it would wait for its own end.
func openEtcd(cfg config, o *opened) (lock.Locker, []httpapi.Probe, error) {
	client, err := clientv3.New(clientv3.Config{
		Endpoints: strings.Split(cfg.EtcdAddr, ","), DialTimeout: 2 * time.Second,
		DialKeepAliveTime: 10 * time.Second, DialKeepAliveTimeout: 2 * time.Second, Logger: zap.NewNop(),
	})
	if err != nil {
		return nil, nil, fmt.Errorf("ETCD_ADDR: %w", err)
	}
	o.addCloser(client)
	locker := etcdlock.New(client)
	return locker, []httpapi.Probe{{Name: "etcd", Check: locker.Ping}}, nil
}

// openMemcache resolves the names of the servers, once: the client would go on
// without any server if that failed.
func openMemcache(cfg config, o *opened) (lock.Locker, []httpapi.Probe, error) {
	servers, err := memcachelock.Servers(strings.Split(cfg.MemcacheAddr, ",")...)
	if err != nil {
		return nil, nil, fmt.Errorf("MEMCACHE_ADDR: %w", err)
	}
	client := memcache.NewFromSelector(servers)
	client.MaxIdleConns = cfg.RedisConns
	o.addCloser(client)
	locker := memcachelock.New(client)
	return locker, []httpapi.Probe{{Name: "memcache", Check: locker.Ping}}, nil
}
