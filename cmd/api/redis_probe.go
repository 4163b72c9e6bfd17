package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/flashsale/internal/idgen"
	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/lock/drivers"
	"example.com/flashsale/internal/settings"
)

// A redisProbe does in Redis what claims do: it counts, and locks by the locker of
// claims. So it fails if the server is full, read-only, paused or without replicas, and
// if the user lacks a right.
type redisProbe struct {
	rdb    redis.UniversalClient
	ids    *idgen.Worker
	locker lock.Locker // nil if claims lock elsewhere
	key    func() string
	log    *slog.Logger
	asked  bool // for the eviction policy
}

func newRedisProbe(cfg settings.Settings, rdb redis.UniversalClient, log *slog.Logger) *redisProbe {
	p := &redisProbe{rdb: rdb, ids: orderIDs(cfg, rdb), key: func() string { return probeKey(cfg) }, log: log}
	if cfg.Lock == "redis" || cfg.Lock == "redisson" {
		p.locker = lockOn(cfg.Lock, rdb)
	}
	return p
}

// lockOn returns a lock that servers of Redis keep.
func lockOn(name string, servers ...redis.UniversalClient) lock.Locker {
	opened, _ := drivers.Open(context.Background(), name, drivers.Servers{Redis: servers}) // it opens nothing
	return opened.Locker
}

// orderIDs returns the worker of the orders' ids.
func orderIDs(cfg settings.Settings, rdb redis.UniversalClient) *idgen.Worker {
	return idgen.New(rdb, cfg.RedisPrefix+"icr:order")
}

// probeKey returns the key of a lock that nothing else requests.
func probeKey(cfg settings.Settings) string {
	return cfg.LockPrefix() + "redis_lock:probe:" + rand.Text()[:16]
}

// check is the Check of a httpapi.Probe.
func (p *redisProbe) check(ctx context.Context) error {
	err := p.ids.Check(ctx)
	if err == nil && p.locker != nil {
		err = tryLock(ctx, p.locker, p.key())
	}
	if err == nil {
		p.warnOfEviction(ctx)
	}
	return explained(err)
}

// errTwoHolders is what a proxy or a server would show that loses keys.
var errTwoHolders = errors.New("a lock that is held was given to another")

// tryLock acquires key, is refused it, extends and releases it.
func tryLock(ctx context.Context, l lock.Locker, key string) error {
	const ttl = 2 * time.Second // it ends by itself if the instance dies
	lease, err := l.TryLock(ctx, key, ttl)
	if err != nil {
		return err
	}
	switch _, err = l.TryLock(ctx, key, ttl); {
	case err == nil:
		err = errTwoHolders
	case errors.Is(err, lock.ErrLocked):
		err = lease.Extend(ctx, ttl)
	}
	return cmp.Or(err, lease.Release(ctx))
}

// warnOfEviction warns if the server may evict locks and counters. It asks until the server
// has replied. It needs the right to INFO, and says nothing without.
func (p *redisProbe) warnOfEviction(ctx context.Context) {
	if p.asked {
		return
	}
	info, err := p.rdb.Info(ctx, "memory").Result()
	_, refused := errors.AsType[redis.Error](err)
	p.asked = err == nil || refused
	_, policy, _ := strings.Cut(info, "maxmemory_policy:")
	if policy, _, _ = strings.Cut(policy, "\r\n"); policy != "" && policy != "noeviction" {
		p.log.Warn("Redis may evict locks that are held: set maxmemory-policy noeviction", "policy", policy)
	}
}

// explained adds to an error of the server what to do about it.
func explained(err error) error {
	if err == nil {
		return nil
	}
	const rights = "the Redis user lacks a right: give it those of docs/install.md by ACL SETUSER"
	const unknown = "a command that docs/install.md names is unknown here: remove its rename-command; " +
		"before sentinels, let REDIS_URL begin with redis+sentinel"
	const nameless = "the nodes of the cluster do not tell their addresses: set their cluster-preferred-endpoint-type ip"
	for _, known := range []struct{ text, advice string }{
		{"NOPERM", rights},
		{"ACL failure in script", rights},  // Redis 7.2 and later
		{"The user executing the", rights}, // before
		{"ERR unknown command", unknown},
		{"ERR Unknown", unknown}, // in a script
		{"WRONGTYPE", "another program uses this key: set REDIS_PREFIX"},
		{"OOM", "the memory of Redis is full: raise maxmemory"},
		{"MOVED", "this is a node of a cluster: let REDIS_URL begin with redis+cluster"},
		{"context deadline exceeded", "Redis does not reply; if REDIS_URL begins with rediss, it may not speak TLS"},
		{"ERR syntax error", "the service needs Redis 7 or later, or Valkey"},
		{"sentinels specified in configuration are unreachable: redis: nil", "the sentinels know no such master_name"},
		{"redis: nil", nameless}, // unknown-endpoint
		{"lookup ?", nameless},   // hostname, without cluster-announce-hostname
	} {
		if strings.Contains(err.Error(), known.text) {
			return fmt.Errorf("%s: %w", known.advice, err)
		}
	}
	return err
}
