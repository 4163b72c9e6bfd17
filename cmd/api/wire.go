package main

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"

	"github.com/jmoiron/sqlx"
	"github.com/redis/go-redis/v9"

	"example.com/flashsale/internal/connect"
	"example.com/flashsale/internal/coupon"
	"example.com/flashsale/internal/httpapi"
	"example.com/flashsale/internal/idgen"
	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/lock/lockmetrics"
	"example.com/flashsale/internal/order"
)

// service is the wired service that serve runs.
type service struct {
	log     *slog.Logger
	db      *sqlx.DB
	api     *httpapi.API
	handler http.Handler // api, with the lab-only routes if LAB is on
	close   func()
}

// open wires the service, from the pools to the handler. It does not connect: an
// unavailable server makes requests fail, not the start.
func open(cfg config, log *slog.Logger) (*service, error) {
	p, err := openPools(cfg)
	if err != nil {
		return nil, err
	}
	locker, closeLocker, err := openLocker(cfg, p)
	if err != nil {
		return nil, err
	}
	metrics := registry(p)
	lockMetrics, err := lockmetrics.New(metrics)
	if err != nil {
		return nil, err
	}
	locks := lock.New(locker, lock.WithObserver(lockMetrics.Observe))
	store := coupon.NewStore(p.db)
	cache := coupon.NewCache(store, cfg.CouponCache)
	claims, err := order.New(order.Config{
		DB: p.db, BatchDB: p.batches, Coupons: cache, CouponStore: store, IDs: idgen.New(p.rdb, "order"),
		Locks: locks, Scope: order.Scope(cfg.LockScope), LockTTL: cfg.LockTTL, LockWait: cfg.LockWait,
		Strategy: cfg.strategy(),
	})
	if err != nil {
		return nil, err
	}
	api := httpapi.New(httpapi.Config{
		Coupons: store, Cache: cache, CouponIDs: idgen.New(p.rdb, "coupon"), Claims: claims, Orders: order.NewStore(p.db),
		Secret: []byte(cfg.JWTSecret), Instance: cfg.Instance, Timeout: cfg.ClaimTimeout,
		Probes: p.probes(), Metrics: metrics, Log: log,
	})
	handler, closeDebug, err := withDebug(cfg, api, p, locks, lockMetrics.Observe)
	if err != nil {
		return nil, err
	}
	return &service{log: log, db: p.db, api: api, handler: handler, close: func() {
		claims.Close()
		locks.Close()
		closeDebug()
		closeLocker()
		p.close()
	}}, nil
}

func (c config) strategy() order.Strategy {
	if slices.Contains(c.GuardsOff, "stock") {
		return order.Unguarded
	}
	return order.Strategy(c.Commit)
}

// pools holds the connections to MySQL and Redis. The probes have pools of their
// own, so that an instance whose pools are exhausted by load stays ready.
type pools struct {
	db, batches, probeDB *sqlx.DB
	rdb, probeRDB        redis.UniversalClient
}

func openPools(cfg config) (p pools, err error) {
	var errs [5]error
	p.db, errs[0] = connect.MySQL(cfg.MySQLDSN, cfg.MySQLConns)
	p.probeDB, errs[1] = connect.MySQL(cfg.MySQLDSN, 1)
	p.batches, errs[2] = connect.MySQL(cfg.MySQLDSN, cfg.MySQLConns, connect.MultiStatements)
	p.rdb, errs[3] = connect.Redis(cfg.RedisURL, cfg.RedisConns)
	p.probeRDB, errs[4] = connect.Redis(cfg.RedisURL, 1)
	return p, errors.Join(errs[:]...)
}

func (p pools) probes() []httpapi.Probe {
	return []httpapi.Probe{
		{Name: "mysql", Check: p.probeDB.PingContext},
		{Name: "redis", Check: func(ctx context.Context) error { return p.probeRDB.Ping(ctx).Err() }},
	}
}

func (p pools) close() {
	_, _, _, _, _ = p.probeDB.Close(), p.probeRDB.Close(), p.db.Close(), p.batches.Close(), p.rdb.Close()
}

// warn logs which protections the settings turn off.
func (c config) warn(log *slog.Logger) {
	if c.Lock == "local" || c.Lock == "none" {
		log.Warn("this LOCK excludes nothing across instances; the database alone keeps the promises", "lock", c.Lock)
	}
	if c.Lab {
		log.Warn("LAB is on: not for production")
	}
	if slices.Contains(c.GuardsOff, "stock") {
		log.Warn("GUARD OFF: stock may be oversold")
	}
	if slices.Contains(c.GuardsOff, "unique") {
		log.Warn("GUARD OFF: a user may get several orders for a coupon")
	}
}
