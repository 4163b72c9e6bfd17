// Package ordermetrics shows in Prometheus metrics what happens to claims beside
// their verdicts, and whether the promises of package order hold.
package ordermetrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"example.com/flashsale/internal/order"
	"example.com/flashsale/internal/order/commit"
)

// Counts counts what happens to claims.
type Counts struct {
	refused *prometheus.CounterVec
	claims  prometheus.Histogram
	took    *prometheus.HistogramVec
}

// New returns Counts in metrics which it registers with r. It panics if they are
// already registered.
func New(r prometheus.Registerer) *Counts {
	c := &Counts{
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "flashsale_gate_refusals_total",
			Help: "Claims refused without a transaction, by the gate that refused them.",
		}, []string{"gate"}),
		claims: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "flashsale_batch_claims", Help: "Claims that shared a transaction.",
			Buckets: prometheus.ExponentialBuckets(1, 2, 10), // 1 to 512
		}),
		took: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "flashsale_commit_seconds",
			Help:    "Time of a transaction of claims, by outcome: committed, refused (no order placed) or failed (perhaps committed).",
			Buckets: prometheus.ExponentialBuckets(0.0005, 2, 14), // 0.5 ms to 4 s
		}, []string{"outcome"}),
	}
	r.MustRegister(c.refused, c.claims, c.took)
	for _, p := range order.Prechecks {
		c.refused.WithLabelValues(string(p))
	}
	for _, outcome := range []string{"committed", "refused", "failed"} {
		c.took.WithLabelValues(outcome)
	}
	return c
}

// Refused counts a claim that a precheck refused.
func (c *Counts) Refused(p order.Precheck) { c.refused.WithLabelValues(string(p)).Inc() }

// Ended counts a transaction.
func (c *Counts) Ended(t commit.Transaction) {
	c.claims.Observe(float64(t.Claims))
	c.took.WithLabelValues(outcome(t)).Observe(t.Took.Seconds())
}

func outcome(t commit.Transaction) string {
	switch {
	case t.Err != nil:
		return "failed"
	case t.Orders == 0:
		return "refused"
	}
	return "committed"
}

// Slots collects how many claims run, and how many wait to run.
type Slots struct{ Claims *order.Claims }

var (
	slots = prometheus.NewDesc("flashsale_slots", "Claims by state: running, or waiting for a slot.",
		[]string{"state"}, nil)
	slotWait = prometheus.NewDesc("flashsale_slot_wait_seconds",
		"Predicted wait of the next claim for a slot, of the coupon where it is longest.", nil, nil)
)

// Describe implements prometheus.Collector.
func (Slots) Describe(out chan<- *prometheus.Desc) {
	out <- slots
	out <- slotWait
}

// Collect implements prometheus.Collector.
func (s Slots) Collect(out chan<- prometheus.Metric) {
	usage := s.Claims.Slots()
	out <- prometheus.MustNewConstMetric(slots, prometheus.GaugeValue, float64(usage.Running), "running")
	out <- prometheus.MustNewConstMetric(slots, prometheus.GaugeValue, float64(usage.Waiting), "waiting")
	out <- prometheus.MustNewConstMetric(slotWait, prometheus.GaugeValue, usage.Wait.Seconds())
}
