// Package observe shows what the service does: its metrics, which Prometheus scrapes, and its traces,
// which OpenTelemetry sends. Package tracing, below it, starts the spans of the domain.
//
// No label of a metric holds a user, a coupon or a key. Counters of known labels begin at
// zero: Prometheus does not notice the first increment of a counter that did not exist before.
package observe

import (
	"runtime"
	"strings"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/redis/go-redis/v9"

	"example.com/flashsale/internal/admission"
	"example.com/flashsale/internal/connect"
)

// NewRegistry returns a registry with the metrics of the process: its versions, and what Go and
// the operating system know of it.
func NewRegistry(version string) *prometheus.Registry {
	r := prometheus.NewRegistry()
	r.MustRegister(collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	show(r, value{"flashsale_build_info", "1, with the versions of the service and of Go.",
		prometheus.Labels{"version": version, "goversion": runtime.Version()}, func() float64 { return 1 }})
	return r
}

// A value is a metric that is read when it is scraped: a counter if its name ends in _total, and a
// gauge otherwise.
type value struct {
	name, help string
	labels     prometheus.Labels // nil for none
	read       func() float64
}

func show(r prometheus.Registerer, values ...value) {
	for _, v := range values {
		if strings.HasSuffix(v.name, "_total") {
			promauto.With(r).NewCounterFunc(
				prometheus.CounterOpts{Name: v.name, Help: v.help, ConstLabels: v.labels}, v.read)
			continue
		}
		promauto.With(r).NewGaugeFunc(prometheus.GaugeOpts{Name: v.name, Help: v.help, ConstLabels: v.labels}, v.read)
	}
}

// counters returns a counter for each value of a label.
func counters[V ~string](r prometheus.Registerer, name, help, label string, values ...V) *prometheus.CounterVec {
	all := promauto.With(r).NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{label})
	for _, v := range values {
		all.WithLabelValues(string(v))
	}
	return all
}

// histograms returns a histogram for each value of a label.
func histograms(
	r prometheus.Registerer, name, help string, buckets []float64, label string, values ...string,
) *prometheus.HistogramVec {
	all := promauto.With(r).NewHistogramVec(
		prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, []string{label})
	for _, v := range values {
		all.WithLabelValues(v)
	}
	return all
}

func state(name string) prometheus.Labels { return prometheus.Labels{"state": name} }

// MySQL shows a pool of connections by its name.
func MySQL(r prometheus.Registerer, db *sqlx.DB, name string) {
	r.MustRegister(collectors.NewDBStatsCollector(db.DB, name))
}

// Redis shows the pool of connections.
func Redis(r prometheus.Registerer, rdb redis.UniversalClient) {
	read := func(n func(*redis.PoolStats) uint32) func() float64 {
		return func() float64 { return float64(n(rdb.PoolStats())) }
	}
	show(r,
		value{"redis_pool_connections", "Connections by state.", state("idle"),
			read(func(s *redis.PoolStats) uint32 { return s.IdleConns })},
		value{"redis_pool_connections", "Connections by state.", state("in_use"),
			read(func(s *redis.PoolStats) uint32 { return s.TotalConns - s.IdleConns })},
		value{"redis_pool_timeouts_total", "Waits for a connection that timed out.", nil,
			read(func(s *redis.PoolStats) uint32 { return s.Timeouts })},
		value{"redis_pool_hits_total", "Requests that found an idle connection.", nil,
			read(func(s *redis.PoolStats) uint32 { return s.Hits })},
		value{"redis_pool_misses_total", "Requests that found no idle connection.", nil,
			read(func(s *redis.PoolStats) uint32 { return s.Misses })},
		value{"redis_pool_waits_total", "Waits for a connection.", nil,
			read(func(s *redis.PoolStats) uint32 { return s.WaitCount })},
		value{"redis_pool_wait_seconds_total", "Time of all waits for a connection.", nil,
			func() float64 { return time.Duration(rdb.PoolStats().WaitDurationNs).Seconds() }},
	)
}

// HTTP shows the connections of clients.
func HTTP(r prometheus.Registerer, l *admission.Listener) {
	show(r,
		value{"http_connections", "Connections by state.", state("open"),
			func() float64 { return float64(l.Conns().Open) }},
		value{"http_connections", "Connections by state.", state("waiting"),
			func() float64 { return float64(l.Conns().Waiting) }},
		value{"http_connections_refused_total", "Connections that would have waited for too long, or have.", nil,
			func() float64 { return float64(l.Conns().Refused) }},
	)
}

// Clock shows the skew of the instance's clock.
func Clock(r prometheus.Registerer, clock *connect.Clock) {
	show(r, value{"flashsale_clock_skew_seconds",
		"How much the instance's clock is ahead of the database's, which decides on windows and tokens.", nil,
		func() float64 { return clock.Skew().Seconds() }})
}

// Dependency shows whether a dependency was up when it was probed last.
func Dependency(r prometheus.Registerer, name string, up func() bool) {
	show(r, value{"flashsale_dependency_up",
		"Whether a server that the instance needs did what claims need when it was last probed: 1 or 0.",
		prometheus.Labels{"dependency": name}, func() float64 { return number(up()) }})
}

// Draining shows whether the instance is shutting down.
func Draining(r prometheus.Registerer, draining func() bool) {
	show(r, value{"flashsale_draining", "Whether the instance is shutting down: 1 or 0.", nil,
		func() float64 { return number(draining()) }})
}

func number(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// JWKSFailures returns the counter of failed fetches, which is 0 without a JWKS.
func JWKSFailures(r prometheus.Registerer) prometheus.Counter {
	return promauto.With(r).NewCounter(prometheus.CounterOpts{
		Name: "flashsale_jwks_fetch_failures_total",
		Help: "Fetches of the JWKS that failed, after which the previous keys remain.",
	})
}
