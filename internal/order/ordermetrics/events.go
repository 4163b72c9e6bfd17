package ordermetrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"example.com/flashsale/internal/order/events"
)

// Events collects what a relay has published, and what waits.
type Events struct{ Relay *events.Relay }

var (
	eventsPublished = prometheus.NewDesc("flashsale_events_published_total",
		"Events added to the stream by this instance, some of them twice.", nil, nil)
	eventsFailures = prometheus.NewDesc("flashsale_events_failures_total",
		"Attempts of this instance to publish events that failed.", nil, nil)
	eventsOldest = prometheus.NewDesc("flashsale_events_oldest_seconds",
		"Age of the oldest event that waits to be published, when this instance last looked; 0 if none did.", nil, nil)
)

// Describe implements prometheus.Collector.
func (Events) Describe(out chan<- *prometheus.Desc) {
	out <- eventsPublished
	out <- eventsFailures
	out <- eventsOldest
}

// Collect implements prometheus.Collector.
func (e Events) Collect(out chan<- prometheus.Metric) {
	s := e.Relay.Stats()
	out <- prometheus.MustNewConstMetric(eventsPublished, prometheus.CounterValue, float64(s.Published))
	out <- prometheus.MustNewConstMetric(eventsFailures, prometheus.CounterValue, float64(s.Failures))
	out <- prometheus.MustNewConstMetric(eventsOldest, prometheus.GaugeValue, s.Oldest.Seconds())
}
