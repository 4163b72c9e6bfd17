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
	return &Requests{
		requests: promauto.With(r).NewCounterVec(prometheus.CounterOpts{
			Name: "http_requests_total", Help: "Responses by route pattern and status.",
		}, []string{"method", "route", "status"}),
		claims: counters(r, "flashsale_claims_total", "Claims by verdict.", "verdict", verdicts...),
		duration: histograms(r, "flashsale_claim_duration_seconds",
			"Time to process a claim, by class: made, refused, failed, or cancelled by the client.",
			prometheus.ExponentialBuckets(0.0001, 2.5, 13), // 0.1 ms to 6 s
			"class", "made", "refused", "failed", "cancelled"),
		limited: counters(r, "flashsale_rate_limited_total",
			"Requests refused because a rate limit was exceeded: that of a user, or of an address.",
			"limit", "user", "address"),
	}
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
