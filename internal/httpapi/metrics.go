package httpapi

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

type metrics struct {
	requests *prometheus.CounterVec
	claims   *prometheus.CounterVec
	duration *prometheus.HistogramVec
	refused  *prometheus.CounterVec
}

func newMetrics(r prometheus.Registerer) *metrics {
	m := &metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "http_requests_total", Help: "Responses by route pattern and status.",
		}, []string{"method", "route", "status"}),
		claims: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "flashsale_claims_total", Help: "Claims by verdict.",
		}, []string{"verdict"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "flashsale_claim_duration_seconds",
			Help:    "Time to process a claim, by class: made, refused, failed, or cancelled by the client.",
			Buckets: prometheus.ExponentialBuckets(0.0001, 2.5, 13), // 0.1 ms to 6 s
		}, []string{"class"}),
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "flashsale_rate_limited_total",
			Help: "Requests refused because a rate limit was exceeded: that of a user, or of an address.",
		}, []string{"limit"}),
	}
	r.MustRegister(m.requests, m.claims, m.duration, m.refused)
	// The usual counters begin at zero: Prometheus does not notice the first increment
	// of a counter that did not exist before.
	m.claims.WithLabelValues("made")
	for _, p := range slices.Concat(claimVerdicts, []*Problem{unavailable, overloaded, internal, cancelled}) {
		m.claims.WithLabelValues(p.Code)
	}
	for _, class := range []string{"made", "refused", "failed", "cancelled"} {
		m.duration.WithLabelValues(class)
	}
	for _, limit := range []string{"user", "address"} {
		m.refused.WithLabelValues(limit)
	}
	return m
}

// A stateCollector collects the state of the instance and of the servers that it
// needs. A scrape probes the servers as /readyz does.
type stateCollector struct{ api *API }

var (
	dependencyUp = prometheus.NewDesc("flashsale_dependency_up",
		"Whether a server that the instance needs does what claims need: 1 or 0.", []string{"dependency"}, nil)
	draining = prometheus.NewDesc("flashsale_draining", "Whether the instance is shutting down: 1 or 0.", nil, nil)
)

// Describe implements prometheus.Collector.
func (stateCollector) Describe(out chan<- *prometheus.Desc) {
	out <- dependencyUp
	out <- draining
}

// Collect implements prometheus.Collector.
func (s stateCollector) Collect(out chan<- prometheus.Metric) {
	checks, _ := s.api.probe(context.Background())
	for name, result := range checks {
		out <- prometheus.MustNewConstMetric(dependencyUp, prometheus.GaugeValue, number(result == "ok"), name)
	}
	out <- prometheus.MustNewConstMetric(draining, prometheus.GaugeValue, number(s.api.draining.Load()))
}

func number(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// request counts a response. Requests that match no route share one label, so
// that clients cannot create label values.
func (m *metrics) request(method, pattern string, status int) {
	if pattern == "" {
		method, pattern = "any", "unmatched"
	}
	m.requests.WithLabelValues(method, pattern, strconv.Itoa(status)).Inc()
}

// claim counts a claim that ended with problem, or with an order if it is nil.
func (m *metrics) claim(took time.Duration, problem *Problem) {
	verdict, class := "made", "made"
	switch {
	case problem == overloaded:
		verdict, class = problem.Code, "refused"
	case problem == nil:
	case problem == cancelled:
		verdict, class = problem.Code, "cancelled"
	case problem.Status >= 500:
		verdict, class = problem.Code, "failed"
	default:
		verdict, class = problem.Code, "refused"
	}
	m.claims.WithLabelValues(verdict).Inc()
	m.duration.WithLabelValues(class).Observe(took.Seconds())
}
