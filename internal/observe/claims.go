package observe

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"example.com/flashsale/internal/order"
	"example.com/flashsale/internal/order/commit"
	"example.com/flashsale/internal/order/events"
)

// Claims counts what happens to claims beside their verdicts, and to orders after them.
type Claims struct {
	changed *prometheus.CounterVec
	refused *prometheus.CounterVec
	claims  prometheus.Histogram
	took    *prometheus.HistogramVec
}

// NewClaims returns Claims in metrics which it registers with r.
func NewClaims(r prometheus.Registerer) *Claims {
	return &Claims{
		changed: counters(r, "flashsale_orders_changed_total",
			"Orders that this instance has brought to a state after their claim: used, returned or expired.",
			"state", order.Used, order.Returned, order.Expired),
		refused: counters(r, "flashsale_gate_refusals_total",
			"Claims refused without a transaction, by the gate that refused them.", "gate", order.Prechecks...),
		claims: promauto.With(r).NewHistogram(prometheus.HistogramOpts{
			Name: "flashsale_batch_claims", Help: "Claims that shared a transaction.",
			Buckets: prometheus.ExponentialBuckets(1, 2, 10), // 1 to 512
		}),
		took: histograms(r, "flashsale_commit_seconds",
			"Time of a transaction of claims, by outcome: committed, refused (no order placed) or failed (perhaps committed).",
			prometheus.ExponentialBuckets(0.0005, 2, 14), // 0.5 ms to 4 s
			"outcome", "committed", "refused", "failed"),
	}
}

// Changed counts orders that were used, were returned or have expired.
func (c *Claims) Changed(to order.State, orders int) {
	c.changed.WithLabelValues(string(to)).Add(float64(orders))
}

// Refused counts a claim that a precheck refused.
func (c *Claims) Refused(p order.Precheck) { c.refused.WithLabelValues(string(p)).Inc() }

// Ended counts a transaction.
func (c *Claims) Ended(t commit.Transaction) {
	c.claims.Observe(float64(t.Claims))
	outcome := "committed"
	switch {
	case t.Err != nil:
		outcome = "failed"
	case t.Orders == 0:
		outcome = "refused"
	}
	c.took.WithLabelValues(outcome).Observe(t.Took.Seconds())
}

// Slots shows how many claims run, and how many wait to run.
func Slots(r prometheus.Registerer, claims *order.Claims) {
	show(r,
		value{"flashsale_slots", "Claims by state: running, or waiting for a slot.", state("running"),
			func() float64 { return float64(claims.Slots().Running) }},
		value{"flashsale_slots", "Claims by state: running, or waiting for a slot.", state("waiting"),
			func() float64 { return float64(claims.Slots().Waiting) }},
		value{"flashsale_slot_wait_seconds",
			"How long the claim that has waited longest for a slot has waited.", nil,
			func() float64 { return claims.Slots().Wait.Seconds() }},
	)
}

// Events shows what a relay has published, and what waits.
func Events(r prometheus.Registerer, relay *events.Relay) {
	show(r,
		value{"flashsale_events_published_total", "Events added to the stream by this instance, some of them twice.", nil,
			func() float64 { return float64(relay.Stats().Published) }},
		value{"flashsale_events_failures_total", "Attempts of this instance to publish events that failed.", nil,
			func() float64 { return float64(relay.Stats().Failures) }},
		value{"flashsale_events_oldest_seconds",
			"Age of the oldest event that waits to be published, when this instance last looked; 0 if none did.", nil,
			func() float64 { return relay.Stats().Oldest.Seconds() }},
	)
}
