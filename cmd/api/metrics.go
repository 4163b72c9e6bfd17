package main

import (
	"runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/redis/go-redis/v9"

	"example.com/flashsale/internal/admission"
	"example.com/flashsale/internal/connect"
	"example.com/flashsale/internal/order"
	"example.com/flashsale/internal/order/ordermetrics"
)

// registry returns a registry with the metrics of the process and of the
// connection pools. The other packages register their own.
func registry(p pools) *prometheus.Registry {
	r := prometheus.NewRegistry()
	r.MustRegister(
		buildInfo(),
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		collectors.NewDBStatsCollector(p.db.DB, "mysql"),
		collectors.NewDBStatsCollector(p.batches.DB, "mysql_batches"),
		redisPool{p.rdb},
	)
	return r
}

// version is the released version of this binary. The linker sets it.
var version = "unknown"

// buildInfo collects the versions that this binary was built from.
func buildInfo() prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name:        "flashsale_build_info",
		Help:        "1, with the versions of the service and of Go.",
		ConstLabels: prometheus.Labels{"version": version, "goversion": runtime.Version()},
	}, func() float64 { return 1 })
}

// registerClaims registers the state of claims and their audits, which opened
// closes.
func registerClaims(r prometheus.Registerer, claims *order.Claims, orders *order.Store, opened *closers) {
	promises := ordermetrics.NewPromises(orders)
	opened.add(promises.Close)
	r.MustRegister(ordermetrics.Slots{Claims: claims}, promises)
}

// registerClock registers the skew of the instance's clock.
func registerClock(r prometheus.Registerer, clock *connect.Clock) {
	r.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "flashsale_clock_skew_seconds",
		Help: "How much the instance's clock is ahead of the database's, which decides on windows and tokens.",
	}, func() float64 { return clock.Skew().Seconds() }))
}

// registerJWKSFailures registers the counter of failed fetches, which is 0 without
// a JWKS.
func registerJWKSFailures(r prometheus.Registerer) prometheus.Counter {
	failures := prometheus.NewCounter(prometheus.CounterOpts{
		Name: "flashsale_jwks_fetch_failures_total",
		Help: "Fetches of the JWKS that failed, after which the previous keys remain.",
	})
	r.MustRegister(failures)
	return failures
}

// redisPool collects the statistics of the Redis connection pool.
type redisPool struct{ rdb redis.UniversalClient }

var (
	poolConns    = prometheus.NewDesc("redis_pool_connections", "Connections by state.", []string{"state"}, nil)
	poolTimeouts = prometheus.NewDesc("redis_pool_timeouts_total", "Waits for a connection that timed out.", nil, nil)
	poolHits     = prometheus.NewDesc("redis_pool_hits_total", "Requests that found an idle connection.", nil, nil)
	poolMisses   = prometheus.NewDesc("redis_pool_misses_total", "Requests that found no idle connection.", nil, nil)
	poolWaits    = prometheus.NewDesc("redis_pool_waits_total", "Waits for a connection.", nil, nil)
	poolWaited   = prometheus.NewDesc("redis_pool_wait_seconds_total", "Time of all waits for a connection.", nil, nil)
)

// Describe implements prometheus.Collector.
func (redisPool) Describe(out chan<- *prometheus.Desc) {
	out <- poolConns
	out <- poolTimeouts
	out <- poolHits
	out <- poolMisses
	out <- poolWaits
	out <- poolWaited
}

// Collect implements prometheus.Collector.
func (p redisPool) Collect(out chan<- prometheus.Metric) {
	s := p.rdb.PoolStats()
	out <- prometheus.MustNewConstMetric(poolConns, prometheus.GaugeValue, float64(s.IdleConns), "idle")
	out <- prometheus.MustNewConstMetric(poolConns, prometheus.GaugeValue, float64(s.TotalConns-s.IdleConns), "in_use")
	out <- prometheus.MustNewConstMetric(poolTimeouts, prometheus.CounterValue, float64(s.Timeouts))
	out <- prometheus.MustNewConstMetric(poolHits, prometheus.CounterValue, float64(s.Hits))
	out <- prometheus.MustNewConstMetric(poolWaits, prometheus.CounterValue, float64(s.WaitCount))
	out <- prometheus.MustNewConstMetric(poolWaited, prometheus.CounterValue,
		time.Duration(s.WaitDurationNs).Seconds())
	out <- prometheus.MustNewConstMetric(poolMisses, prometheus.CounterValue, float64(s.Misses))
}

// httpConns collects the statistics of the HTTP connections.
type httpConns struct{ *admission.Listener }

var (
	httpConnections  = prometheus.NewDesc("http_connections", "Connections by state.", []string{"state"}, nil)
	httpConnsRefused = prometheus.NewDesc("http_connections_refused_total",
		"Connections that would have waited for too long, or have.", nil, nil)
)

// Describe implements prometheus.Collector.
func (httpConns) Describe(out chan<- *prometheus.Desc) {
	out <- httpConnections
	out <- httpConnsRefused
}

// Collect implements prometheus.Collector.
func (c httpConns) Collect(out chan<- prometheus.Metric) {
	n := c.Conns()
	out <- prometheus.MustNewConstMetric(httpConnections, prometheus.GaugeValue, float64(n.Open), "open")
	out <- prometheus.MustNewConstMetric(httpConnections, prometheus.GaugeValue, float64(n.Waiting), "waiting")
	out <- prometheus.MustNewConstMetric(httpConnsRefused, prometheus.CounterValue, float64(n.Refused))
}
