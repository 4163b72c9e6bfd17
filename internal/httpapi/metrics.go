package httpapi

import (
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
			Name: "flashsale_claim_duration_seconds", Help: "Time to process a claim, by class: made, refused, failed, or cancelled by the client.",
			Buckets: prometheus.ExponentialBuckets(0.0001, 2.5, 13), // 0.1 ms to 6 s
		}, []string{"class"}),
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "flashsale_rate_limited_total", Help: "Requests refused because a rate limit was exceeded: that of a user, or of an address.",
		}, []string{"limit"}),
	}
	r.MustRegister(m.requests, m.claims, m.duration, m.refused)
	return m
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
