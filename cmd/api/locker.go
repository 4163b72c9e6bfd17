package main

import (
	"errors"
	"strings"
	"time"

	"github.com/bradfitz/gomemcache/memcache"
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
)

// locks lists the values of LOCK.
var locks = []string{"redis", "redisson", "redlock", "mysql", "getlock", "zk", "etcd", "memcache", "local", "none"}

// openLocker opens the lock driver that LOCK names, and the connections it needs
// beside the pools.
func openLocker(cfg config, p pools) (l lock.Locker, close func(), err error) {
	close = func() {}
	switch cfg.Lock {
	case "redis":
		l = redislock.Batched(p.rdb)
	case "redisson":
		l = redisson.New(p.rdb, redisson.Auto).FencedLock()
	case "redlock":
		l, close, err = openRedlock(cfg)
	case "mysql":
		db, e := connect.MySQL(cfg.MySQLDSN, cfg.MySQLConns) // a pool of its own, so that locks do not wait for connections that claims hold
		l, close, err = mysqllock.NewRows(db), closing(db), e
	case "getlock":
		named, e := mysqllock.OpenNamed(cfg.MySQLDSN, cfg.MySQLConns)
		l, close, err = named, closing(named), e
	case "zk": // the lock of a dead holder remains until its session times out
		session, e := zklock.Open(strings.Split(cfg.ZKAddr, ","), cfg.LockTTL)
		l, err = session, e
		if e == nil {
			close = session.Close
		}
	case "etcd":
		cli, e := clientv3.New(clientv3.Config{Endpoints: strings.Split(cfg.EtcdAddr, ","), DialTimeout: 2 * time.Second, Logger: zap.NewNop()})
		l, close, err = etcdlock.New(cli), closing(cli), e
	case "memcache":
		mc := memcache.New(strings.Split(cfg.MemcacheAddr, ",")...)
		mc.Timeout, mc.MaxIdleConns = time.Second, cfg.RedisConns
		l, close = memcachelock.New(mc), closing(mc)
	case "local":
		l = lock.Local()
	default:
		l = lock.None()
	}
	return l, close, err
}

func closing(c interface{ Close() error }) func() { return func() { _ = c.Close() } }

// openRedlock opens a lock over the servers of REDLOCK_URLS.
func openRedlock(cfg config) (lock.Locker, func(), error) {
	var (
		nodes  []lock.Locker
		closes []func()
		errs   []error
	)
	for _, url := range cfg.RedlockURLs {
		rdb, err := connect.Redis(url, cfg.RedisConns)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		nodes, closes = append(nodes, redislock.New(rdb)), append(closes, closing(rdb))
	}
	close := func() {
		for _, c := range closes {
			c()
		}
	}
	return redlock.New(nodes...), close, errors.Join(errs...)
}
