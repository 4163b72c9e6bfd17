package main

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"slices"

	"github.com/jmoiron/sqlx"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"
	"go.opentelemetry.io/otel/trace"

	"example.com/flashsale/internal/admission/ratelimit"
	"example.com/flashsale/internal/auth"
	"example.com/flashsale/internal/connect"
	"example.com/flashsale/internal/coupon"
	"example.com/flashsale/internal/httpapi"
	"example.com/flashsale/internal/idgen"
	"example.com/flashsale/internal/labroutes"
	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/lock/mysqllock"
	"example.com/flashsale/internal/observe"
	"example.com/flashsale/internal/observe/tracing"
	"example.com/flashsale/internal/order"
	"example.com/flashsale/internal/order/commit"
	"example.com/flashsale/internal/order/events"
	"example.com/flashsale/internal/order/life"
	"example.com/flashsale/internal/order/winners"
	"example.com/flashsale/internal/settings"
	"example.com/flashsale/internal/transaction"
)

// service is the wired service that serve runs. Its parts are in the order in which they are opened.
type service struct {
	cfg settings.Settings
	log *slog.Logger
	opened

	traces               trace.TracerProvider // nil if they are off
	db, batches, probeDB *sqlx.DB             // probes have pools of their own: under load, too, the instance is ready
	server               connect.Server       // of batches
	rdb, probeRDB        redis.UniversalClient
	metrics              *prometheus.Registry
	counts               *observe.Claims
	clock                *connect.Clock
	locks                *lock.Client
	lockProbes           []httpapi.Probe
	guards               *guards
	cache                *coupon.Cache
	sections             *labroutes.Sections // nil without LAB
	claims               *order.Claims
	orders               *life.Orders
	relay                *events.Relay // nil without EVENTS
	api                  *httpapi.API
	handler              http.Handler // api, with the lab-only routes if LAB is on
}

// open wires the service, from the pools to the handler. It does not connect: an
// unavailable server makes requests fail, not the start. If a part cannot be
// opened, it closes the others.
func open(cfg settings.Settings, log *slog.Logger) (*service, error) {
	s := &service{cfg: cfg, log: log}
	for _, part := range []func() error{
		s.openTraces, s.openPools, s.openLocks, s.openClaims, s.openOrders, s.openAPI, s.openLab,
	} {
		if err := part(); err != nil {
			s.close()
			return nil, err
		}
	}
	return s, nil
}

func (s *service) openTraces() error {
	to, on := s.cfg.Traces()
	if !on {
		return nil
	}
	provider, shutDown, err := to.Open(s.log)
	if err == nil {
		s.traces = provider
		s.add(shutDown)
	}
	return err
}

func (s *service) openPools() error {
	dsn, traced := s.cfg.MySQLDSN, connect.OpenBy(observe.TraceMySQL(s.traces))
	s.db = s.mysql(dsn, s.cfg.MySQLConns, traced, connect.ShortTransactions, labRecord(s.cfg))
	s.batches = s.mysql(dsn, s.cfg.MySQLConns, traced, connect.MultiStatements,
		connect.BriefLockWaits, connect.Detect(&s.server))
	s.probeDB = s.mysql(dsn, 1, connect.ForProbes)
	s.rdb, s.probeRDB = s.redis(s.cfg.RedisURL, s.cfg.RedisConns), s.redis(s.cfg.RedisURL, 1)
	if s.err != nil {
		return s.err
	}
	s.clock = connect.NewClock(s.probeDB)
	s.metrics = observe.NewRegistry(version)
	observe.MySQL(s.metrics, s.db, "mysql")
	observe.MySQL(s.metrics, s.batches, "mysql_batches")
	observe.Redis(s.metrics, s.rdb)
	observe.Clock(s.metrics, s.clock)
	return observe.TraceRedis(s.rdb, s.traces)
}

func (s *service) openLocks() (err error) {
	s.locks, s.lockProbes, err = s.openLocker(s.cfg.Lock, s.cfg.Lock, order.LockClass)
	return err
}

// openClaims opens the path of a claim: prechecks, lock, id, commit.
func (s *service) openClaims() error {
	s.counts = observe.NewClaims(s.metrics)
	committer, err := commit.New(s.cfg.Strategy(), commit.Config{
		DB: s.db, BatchDB: s.batches, Sharded: s.server.Sharded,
		Outbox: events.Outbox(s.cfg.Events), Counted: s.cfg.Lacks("number"), Ended: s.counts.Ended,
		Tracer: tracing.New(s.traces),
	})
	if err != nil {
		return err
	}
	s.guards = &guards{db: s.probeDB, without: s.cfg.KeysOff()}
	s.cache = coupon.NewCache(coupon.NewStore(s.db), s.cfg.CouponCache)
	s.sections = labSections(s.cfg)
	s.claims, err = order.New(order.Config{
		Coupons: s.cache, Winners: labWinners(s.cfg, winners.New(s.db)), Committer: guarded{committer, s.guards},
		IDs: orderIDs(s.cfg, s.rdb), Locks: s.locks, LockPrefix: s.cfg.LockPrefix(),
		Scope: order.Scope(s.cfg.LockScope), LockTTL: s.cfg.LockTTL, LockWait: s.cfg.LockWait,
		Running: s.cfg.Running(), StuckAfter: order.StuckAfter,
		Now: s.clock.Now, Refused: s.counts.Refused, Enter: s.sections.Observer(), Tracer: tracing.New(s.traces),
	})
	return err
}

// openOrders opens what happens to orders after the claim, and what tells others of them.
func (s *service) openOrders() error {
	s.orders = life.New(s.db, s.cache, events.Outbox(s.cfg.Events), s.counts.Changed)
	if s.cfg.Lacks("end") {
		s.orders.Unguard(life.Unguarded{Locked: lockedUser(s.cfg, s.locks), Pause: s.cfg.ClaimPause})
	}
	s.add(s.orders.Close)
	promises := observe.NewPromises(s.orderStore())
	s.add(promises.Close)
	s.metrics.MustRegister(promises)
	observe.Slots(s.metrics, s.claims)
	if !s.cfg.Events {
		return nil
	}
	s.relay = events.NewRelay(events.Config{
		DB:     s.mysql(s.cfg.MySQLDSN, 1, connect.ShortTransactions),
		Redis:  s.redis(cmp.Or(s.cfg.EventsRedis, s.cfg.RedisURL), 1),
		Stream: s.cfg.RedisPrefix + "events",
		Locks:  s.locks, Lock: s.cfg.LockPrefix() + "redis_lock:events",
	})
	s.add(s.relay.Close)
	observe.Events(s.metrics, s.relay)
	return s.err
}

func (s *service) orderStore() *order.Store { return order.NewStore(s.db).Sharded(s.server.Sharded) }

func (s *service) openAPI() error {
	verifier, err := s.openVerifier()
	if err != nil {
		return err
	}
	s.api = httpapi.New(httpapi.Config{
		Coupons: coupon.NewStore(s.db), Cache: s.cache, CouponIDs: idgen.New(s.rdb, s.cfg.RedisPrefix+"icr:coupon"),
		Claims: s.claims, Orders: s.orderStore(), Life: s.orders, Verifier: verifier, Now: s.clock.Now,
		Users:          ratelimit.New[int64](s.cfg.UserRate, s.cfg.UserBurst),
		Addresses:      ratelimit.New[netip.Prefix](s.cfg.AddressRate, s.cfg.AddressBurst),
		TrustedProxies: s.cfg.TrustedProxies, CORSOrigins: s.cfg.CORSOrigins,
		Instance: s.cfg.Instance, Timeout: s.cfg.Timeout(), Connections: s.cfg.HTTPConns,
		Probes: s.probes(), Docs: s.cfg.Docs,
		Metrics: s.metrics, Traces: s.traces, Log: s.log, AccessLog: s.cfg.AccessLog,
	})
	return nil
}

// openVerifier returns the verifier of the service's tokens. It fetches the JWKS,
// because a service without keys would refuse every user.
func (s *service) openVerifier() (*auth.Verifier, error) {
	failures := observe.JWKSFailures(s.metrics)
	tokens := s.cfg.Tokens()
	tokens.Now = s.clock.Now
	if s.cfg.JWTJWKS == "" {
		return auth.NewVerifier(tokens), nil
	}
	ctx, cancel := context.WithCancel(context.Background())
	s.add(cancel)
	jwks, err := auth.OpenJWKS(ctx, s.cfg.JWTJWKS, func(err error) {
		failures.Inc()
		s.log.Warn("JWKS not fetched, the previous keys remain", "error", err.Error())
	})
	if err != nil {
		return nil, fmt.Errorf("JWT_JWKS: %w", err)
	}
	tokens.JWKS = jwks
	return auth.NewVerifier(tokens), nil
}

func (s *service) probes() []httpapi.Probe {
	writes := slices.Concat(coupon.Writes, order.Writes, events.Outbox(s.cfg.Events).Writes(),
		[]string{`ROLLBACK`}, mysqllock.Writes[s.cfg.Lock]) // locks are in no transaction
	unavailable := false
	checkMySQL := func(ctx context.Context) error {
		err := transaction.CheckWritable(ctx, s.probeDB, writes...)
		if unavailable && err == nil {
			s.account.Renew()
		}
		unavailable = err != nil
		return err
	}
	return append([]httpapi.Probe{
		{Name: "guards", Check: s.guards.check},
		{Name: "mysql", Check: checkMySQL},
		{Name: "redis", Check: newRedisProbe(s.cfg, s.probeRDB, s.log).check},
	}, s.lockProbes...)
}
