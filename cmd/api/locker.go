package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"example.com/flashsale/internal/connect"
	"example.com/flashsale/internal/httpapi"
	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/lock/drivers"
	"example.com/flashsale/internal/lock/redislock"
	"example.com/flashsale/internal/settings"
)

// openLocker opens the lock driver that LOCK names, and the connections it needs
// beside the pools. It also returns a probe of the driver's own server, unless
// the driver uses MySQL or Redis, which are probed anyway.
//
// The lock of an instance that died remains in ZooKeeper for LOCK_TTL.
func openLocker(cfg settings.Settings, p pools, o *opened) (lock.Locker, []httpapi.Probe, error) {
	if !slices.Contains(settings.Locks, cfg.Lock) {
		return nil, nil, fmt.Errorf("LOCK: unknown value %q", cfg.Lock)
	}
	s := drivers.Servers{
		Redis: []redis.UniversalClient{p.rdb}, MySQL: cfg.MySQLDSN,
		MySQLOptions: []connect.Option{connect.SharedBy(&o.account)},
		ZooKeeper:    strings.Split(cfg.ZKAddr, ","), Etcd: strings.Split(cfg.EtcdAddr, ","),
		Memcached: strings.Split(cfg.MemcacheAddr, ","), Conns: cfg.RedisConns, Session: cfg.LockTTL,
	}
	var probes []httpapi.Probe
	switch cfg.Lock {
	case "mysql", "getlock":
		s.Conns = cfg.MySQLConns
	case "redlock":
		var err error
		if s.Redis, probes, err = openRedlock(cfg, o); err != nil {
			return nil, nil, err
		}
	}
	l, err := drivers.Open(context.Background(), cfg.Lock, s)
	if err != nil {
		return nil, nil, fmt.Errorf("LOCK=%s: %w", cfg.Lock, err)
	}
	o.add(l.Close)
	if l.Ping != nil {
		probes = append(probes, httpapi.Probe{Name: cfg.Lock, Check: l.Ping})
	}
	return l.Locker, probes, nil
}

// openRedlock opens the servers of REDLOCK_URLS, twice: a probe has connections of its
// own.
func openRedlock(cfg settings.Settings, o *opened) (nodes []redis.UniversalClient, _ []httpapi.Probe, _ error) {
	var probed []lock.Locker
	for _, url := range cfg.RedlockURLs {
		rdb, probeRDB := o.redis(url, cfg.RedisConns), o.redis(url, 1)
		if o.err != nil {
			return nil, nil, fmt.Errorf("REDLOCK_URLS: %w", o.err)
		}
		nodes, probed = append(nodes, rdb), append(probed, redislock.New(probeRDB))
	}
	check := func(ctx context.Context) error { return lockMajority(ctx, probeKey(cfg), probed) }
	return nodes, []httpapi.Probe{{Name: "redlock", Check: check}}, nil
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
