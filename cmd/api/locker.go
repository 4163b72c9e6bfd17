package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"example.com/flashsale/internal/connect"
	"example.com/flashsale/internal/httpapi"
	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/lock/drivers"
	"example.com/flashsale/internal/observe"
)

// openLocker returns a client of the lock driver with a name of LOCK, whose locks it counts by the
// label driver, and the classes from zero on; and probes of the driver's own servers, unless those
// are the MySQL or the Redis that are probed anyway.
//
// The lock of an instance that died remains in ZooKeeper for LOCK_TTL.
func (s *service) openLocker(name, label string, classes ...string) (*lock.Client, []httpapi.Probe, error) {
	servers := drivers.Servers{
		Redis: []redis.UniversalClient{s.rdb}, MySQL: s.cfg.MySQLDSN,
		MySQLOptions: []connect.Option{connect.SharedBy(&s.account)},
		ZooKeeper:    strings.Split(s.cfg.ZKAddr, ","), Etcd: strings.Split(s.cfg.EtcdAddr, ","),
		Memcached: strings.Split(s.cfg.MemcacheAddr, ","), Conns: s.cfg.RedisConns, Session: s.cfg.LockTTL,
	}
	var probes []httpapi.Probe
	switch name {
	case "mysql", "getlock":
		servers.Conns = s.cfg.MySQLConns
	case "redlock":
		if servers.Redis, probes = s.openRedlock(); s.err != nil {
			return nil, nil, fmt.Errorf("REDLOCK_URLS: %w", s.err)
		}
	}
	l, err := drivers.Open(context.Background(), name, servers)
	if err != nil {
		return nil, nil, fmt.Errorf("LOCK=%s: %w", name, err)
	}
	s.add(l.Close)
	if l.Ping != nil {
		probes = append(probes, httpapi.Probe{Name: name, Check: func(ctx context.Context) error {
			if err := l.Ping(ctx); err != nil {
				return err
			}
			return tryLock(ctx, l.Locker, probeKey(s.cfg)) // a server may reply, and refuse its locks
		}})
	}
	client := lock.New(l.Locker, lock.WithObserver(observe.Locks(s.metrics, label, classes...)))
	s.add(client.Close)
	return client, probes, nil
}

// openRedlock opens the servers of REDLOCK_URLS, twice: a probe has connections of its
// own.
func (s *service) openRedlock() (nodes []redis.UniversalClient, _ []httpapi.Probe) {
	var probed []redis.UniversalClient
	for _, url := range s.cfg.RedlockURLs {
		nodes, probed = append(nodes, s.redis(url, s.cfg.RedisConns)), append(probed, s.redis(url, 1))
	}
	majority := lockOn("redlock", probed...)
	check := func(ctx context.Context) error { return explained(tryLock(ctx, majority, probeKey(s.cfg))) }
	return nodes, []httpapi.Probe{{Name: "redlock", Check: check}}
}
