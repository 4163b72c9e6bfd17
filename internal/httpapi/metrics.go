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
			Name: "flashsale_claim_duration_seconds", Help: "Time to process a claim, by class: made, refused or failed.",
			Buckets: prometheus.ExponentialBuckets(0.0001, 2.5, 13), // 0.1 ms to 6 s
		}, []string{"class"}),
	}
	r.MustRegister(m.requests, m.claims, m.duration)
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

// claim counts a claim that ended with err.
func (m *metrics) claim(start time.Time, err error) {
	verdict, class := "made", "made"
	if err != nil {
		p := problemOf(err)
		verdict, class = p.Code, "refused"
		if p.Status >= 500 {
			class = "failed"
		}
	}
	m.claims.WithLabelValues(verdict).Inc()
	m.duration.WithLabelValues(class).Observe(time.Since(start).Seconds())
}
