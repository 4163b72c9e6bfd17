package observe

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// Requests counts responses, and claims by their verdict: made, or the code of a problem.
type Requests struct {
	requests *prometheus.CounterVec
	claims   *prometheus.CounterVec
	duration *prometheus.HistogramVec
	limited  *prometheus.CounterVec
}

// NewRequests returns Requests in metrics which it registers with r.
func NewRequests(r prometheus.Registerer, verdicts ...string) *Requests {
	auto := promauto.With(r)
	m := &Requests{
		requests: auto.NewCounterVec(prometheus.CounterOpts{
			Name: "http_requests_total", Help: "Responses by route pattern and status.",
		}, []string{"method", "route", "status"}),
		claims: auto.NewCounterVec(prometheus.CounterOpts{
			Name: "flashsale_claims_total", Help: "Claims by verdict.",
		}, []string{"verdict"}),
		duration: auto.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "flashsale_claim_duration_seconds",
			Help:    "Time to process a claim, by class: made, refused, failed, or cancelled by the client.",
			Buckets: prometheus.ExponentialBuckets(0.0001, 2.5, 13), // 0.1 ms to 6 s
		}, []string{"class"}),
		limited: auto.NewCounterVec(prometheus.CounterOpts{
			Name: "flashsale_rate_limited_total",
			Help: "Requests refused because a rate limit was exceeded: that of a user, or of an address.",
		}, []string{"limit"}),
	}
	for _, verdict := range verdicts {
		m.claims.WithLabelValues(verdict)
	}
	for _, class := range []string{"made", "refused", "failed", "cancelled"} {
		m.duration.WithLabelValues(class)
	}
	for _, limit := range []string{"user", "address"} {
		m.limited.WithLabelValues(limit)
	}
	return m
}

// Served counts a response. Requests that match no route share one label, so
// that clients cannot create label values.
func (m *Requests) Served(method, pattern string, status int) {
	if pattern == "" {
		method, pattern = "any", "unmatched"
	}
	m.requests.WithLabelValues(method, pattern, strconv.Itoa(status)).Inc()
}

// Claimed counts a claim.
func (m *Requests) Claimed(verdict, class string, took time.Duration) {
	m.claims.WithLabelValues(verdict).Inc()
	m.duration.WithLabelValues(class).Observe(took.Seconds())
}

// Limited counts a request that a limit has refused.
func (m *Requests) Limited(limit string) { m.limited.WithLabelValues(limit).Inc() }
