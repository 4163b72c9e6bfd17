package main

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"slices"
	"sync/atomic"
	"time"

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
	"example.com/flashsale/internal/lock"
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

// service is the wired service that serve runs.
type service struct {
	log     *slog.Logger
	claims  *order.Claims
	orders  *life.Orders
	relay   *events.Relay // nil without EVENTS
	api     *httpapi.API
	guards  *guards
	clock   *connect.Clock
	metrics *prometheus.Registry
	handler http.Handler // api, with the lab-only routes if LAB is on
	// shutdown ends the responses that do not end by themselves.
	shutdown func()
	close    func()
}

// open wires the service, from the pools to the handler. It does not connect: an
// unavailable server makes requests fail, not the start. If a part cannot be
// opened, it closes the others.
func open(cfg settings.Settings, log *slog.Logger) (*service, error) {
	o := new(opened)
	s, err := wire(cfg, log, o)
	if err != nil {
		o.close()
		return nil, err
	}
	s.close = o.close
	return s, nil
}

// wire wires the service, and adds what it opens to o.
func wire(cfg settings.Settings, log *slog.Logger, o *opened) (*service, error) {
	traces, err := openTraces(cfg, log, o)
	if err != nil {
		return nil, err
	}
	p, err := openPools(cfg, traces, o)
	if err != nil {
		return nil, err
	}
	locker, probe, err := openLocker(cfg, p, o)
	if err != nil {
		return nil, err
	}
	clock := connect.NewClock(p.probeDB)
	metrics := registry(p, clock)
	verifier, err := openVerifier(cfg, clock.Now, log, observe.JWKSFailures(metrics), o)
	if err != nil {
		return nil, err
	}
	locks := lock.New(locker, lock.WithObserver(observe.Locks(metrics, cfg.Lock, order.LockClass)))
	o.add(locks.Close)
	store := coupon.NewStore(p.db)
	cache := coupon.NewCache(store, cfg.CouponCache)
	sections := labSections(cfg)
	counts := observe.NewClaims(metrics)
	committer, err := commit.New(cfg.Strategy(), commit.Config{
		DB: p.db, BatchDB: p.batches, Standalone: p.standalone.Load, Outbox: events.Outbox(cfg.Events),
		Counted: cfg.Lacks("number"), Ended: counts.Ended, Tracer: tracing.New(traces),
	})
	if err != nil {
		return nil, err
	}
	guards := newGuards(cfg, p.probeDB)
	o.add(guards.close)
	claims, err := order.New(order.Config{
		Coupons: cache, Winners: labWinners(cfg, winners.New(p.db)), Committer: guarded{committer, guards},
		IDs: orderIDs(cfg, p.rdb), Locks: locks, LockPrefix: cfg.LockPrefix(),
		Scope: order.Scope(cfg.LockScope), LockTTL: cfg.LockTTL, LockWait: cfg.LockWait,
		Running: cfg.Running(), Wait: cfg.Timeout().Wait(),
		Now: clock.Now, Refused: counts.Refused, Enter: sections.Observer(), Tracer: tracing.New(traces),
	})
	if err != nil {
		return nil, err
	}
	orders := life.New(p.db, cache, events.Outbox(cfg.Events))
	if cfg.Lacks("end") {
		orders.Unguard(life.Unguarded{Locked: lockedUser(cfg, locks), Pause: cfg.ClaimPause})
	}
	o.add(orders.Close)
	relay, err := openRelay(cfg, locks, metrics, o)
	if err != nil {
		return nil, err
	}
	promises := observe.NewPromises(order.NewStore(p.db))
	o.add(promises.Close)
	metrics.MustRegister(promises)
	observe.Slots(metrics, claims)
	api := httpapi.New(httpapi.Config{
		Coupons: store, Cache: cache, CouponIDs: idgen.New(p.rdb, cfg.RedisPrefix+"icr:coupon"), Claims: claims,
		Orders:         order.NewStore(p.db),
		Life:           orders,
		Verifier:       verifier,
		Now:            clock.Now,
		Users:          ratelimit.New[int64](cfg.UserRate, cfg.UserBurst),
		Addresses:      ratelimit.New[netip.Prefix](cfg.AddressRate, cfg.AddressBurst),
		Sites:          ratelimit.New[netip.Prefix](siteNetworks*cfg.AddressRate, siteNetworks*cfg.AddressBurst),
		TrustedProxies: cfg.TrustedProxies, CORSOrigins: cfg.CORSOrigins,
		Instance: cfg.Instance, Timeout: cfg.Timeout(), Connections: cfg.HTTPConns,
		Probes: append(p.probes(cfg, guards, log), probe...), Docs: cfg.Docs,
		Metrics: metrics, Traces: traces, Log: log, AccessLog: cfg.AccessLog,
	})
	handler, err := withLabRoutes(cfg, api, p, locks, sections, metrics, o)
	if err != nil {
		return nil, err
	}
	return &service{
		log: log, claims: claims, orders: orders, relay: relay, api: api, guards: guards, clock: clock,
		metrics: metrics, handler: handler, shutdown: sections.Close,
	}, nil
}

// openVerifier returns the verifier of the service's tokens. It fetches the JWKS,
// because a service without keys would refuse every user.
func openVerifier(
	cfg settings.Settings, now func() time.Time, log *slog.Logger, failures prometheus.Counter, o *opened,
) (*auth.Verifier, error) {
	tokens := cfg.Tokens()
	tokens.Now = now
	if cfg.JWTJWKS == "" {
		return auth.NewVerifier(tokens), nil
	}
	ctx, cancel := context.WithCancel(context.Background())
	o.add(cancel)
	jwks, err := auth.OpenJWKS(ctx, cfg.JWTJWKS, func(err error) {
		failures.Inc()
		log.Warn("JWKS not fetched, the previous keys remain", "error", err.Error())
	})
	if err != nil {
		return nil, fmt.Errorf("JWT_JWKS: %w", err)
	}
	tokens.JWKS = jwks
	return auth.NewVerifier(tokens), nil
}

// openRelay returns the relay of events, or nil if there are none.
func openRelay(cfg settings.Settings, locks *lock.Client, r prometheus.Registerer, o *opened) (*events.Relay, error) {
	if !cfg.Events {
		return nil, nil
	}
	relay := events.NewRelay(events.Config{
		DB:     o.mysql(cfg.MySQLDSN, 1, connect.ShortTransactions),
		Redis:  o.redis(cmp.Or(cfg.EventsRedis, cfg.RedisURL), 1),
		Stream: cfg.RedisPrefix + "events",
		Locks:  locks, Lock: cfg.LockPrefix() + "redis_lock:events",
	})
	o.add(relay.Close)
	observe.Events(r, relay)
	return relay, o.err
}

// siteNetworks is how many networks of an IPv6 site (/48) may use up their limits
// (/64) at once. limits.conf of nginx has the same.
const siteNetworks = 4

// pools holds the connections to MySQL and Redis. The probes have pools of their
// own, so that an instance whose pools are exhausted by load stays ready.
type pools struct {
	db, batches, probeDB *sqlx.DB
	standalone           *atomic.Bool // see connect.DetectCluster
	rdb, probeRDB        redis.UniversalClient
}

func openPools(cfg settings.Settings, traces trace.TracerProvider, o *opened) (pools, error) {
	traced, standalone := observe.TraceMySQL(traces), new(atomic.Bool)
	p := pools{
		db:      o.mysql(cfg.MySQLDSN, cfg.MySQLConns, labOpen(cfg, traced), connect.ShortTransactions),
		probeDB: o.mysql(cfg.MySQLDSN, 1, connect.ForProbes),
		batches: o.mysql(cfg.MySQLDSN, cfg.MySQLConns,
			connect.OpenBy(traced), connect.MultiStatements, connect.BriefLockWaits,
			connect.DetectCluster(standalone)),
		standalone: standalone,
		rdb:        o.redis(cfg.RedisURL, cfg.RedisConns),
		probeRDB:   o.redis(cfg.RedisURL, 1),
	}
	if o.err != nil {
		return p, o.err
	}
	return p, observe.TraceRedis(p.rdb, traces)
}

// openTraces returns nil if traces are off.
func openTraces(cfg settings.Settings, log *slog.Logger, o *opened) (trace.TracerProvider, error) {
	to, on := cfg.Traces()
	if !on {
		return nil, nil //nolint:nilnil // nil is a provider that is off
	}
	provider, shutDown, err := to.Open(log)
	if err == nil {
		o.add(shutDown)
	}
	return provider, err
}

// registry returns a registry with the metrics of the process, the pools and the clock.
func registry(p pools, clock *connect.Clock) *prometheus.Registry {
	r := observe.NewRegistry(version)
	observe.MySQL(r, p.db, "mysql")
	observe.MySQL(r, p.batches, "mysql_batches")
	observe.Redis(r, p.rdb)
	observe.Clock(r, clock)
	return r
}

func (p pools) probes(cfg settings.Settings, guards *guards, log *slog.Logger) []httpapi.Probe {
	return []httpapi.Probe{
		{Name: "guards", Check: guards.check},
		{Name: "mysql", Check: func(ctx context.Context) error {
			return transaction.CheckWritable(ctx, p.probeDB, slices.Concat(coupon.Writes, order.Writes)...)
		}},
		{Name: "redis", Check: newRedisProbe(cfg, p.probeRDB, log).check},
	}
}
