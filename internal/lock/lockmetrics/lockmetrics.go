// Package lockmetrics counts the events of a lock.Client in Prometheus metrics.
// They are labelled by the driver and the class of the lock, and never by its
// key.
package lockmetrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"example.com/flashsale/internal/lock"
)

// Metrics is a set of registered metrics.
type Metrics struct {
	acquires *prometheus.CounterVec
	ends     *prometheus.CounterVec
	renewals *prometheus.CounterVec
	wait     *prometheus.HistogramVec
	hold     *prometheus.HistogramVec
	waiters  *prometheus.GaugeVec

	unnotified *prometheus.CounterVec
}

// New registers the metrics of a driver with r, and returns the error of r if
// they are already registered. The counters of classes begin at zero: Prometheus
// does not notice the first increment of a counter that did not exist before.
func New(r prometheus.Registerer, driver string, classes ...string) (*Metrics, error) {
	r = prometheus.WrapRegistererWith(prometheus.Labels{"driver": driver}, r)
	counter := func(name, help string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{"class", "outcome"})
	}
	seconds := func(name, help string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: name, Help: help, Buckets: prometheus.ExponentialBuckets(0.0001, 4, 10), // 0.1 ms to 26 s
		}, []string{"class"})
	}
	m := &Metrics{
		acquires: counter("lock_acquires_total",
			"Attempts to acquire a lock: acquired, refused (another holds it), unknown or reentered; retried is a request of a waiter that was repeated after an unknown outcome."),
		ends: counter("lock_holds_total", "Acquired locks that ended: released, lost or unknown."),
		renewals: counter("lock_renewals_total",
			"Extensions of leases: renewed, late (with less than a third of the TTL left) or unknown."),
		wait: seconds("lock_wait_seconds", "Time until a lock was acquired."),
		hold: seconds("lock_hold_seconds", "Time from acquiring a lock to its end."),
		waiters: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "lock_waiters", Help: "Calls that wait for a lock now.",
		}, []string{"class"}),
		unnotified: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "lock_unnotified_total",
			Help: "Releases of which the service refused to notify the waiters, which poll then; in Redis the user lacks a channel (ACL &…).",
		}, []string{"class"}),
	}
	for _, c := range []prometheus.Collector{m.acquires, m.ends, m.renewals, m.wait, m.hold, m.waiters, m.unnotified} {
		if err := r.Register(c); err != nil {
			return nil, err
		}
	}
	for _, class := range classes {
		m.begin(class)
	}
	return m, nil
}

func (m *Metrics) begin(class string) {
	for counter, outcomes := range map[*prometheus.CounterVec][]string{
		m.acquires: {"acquired", "refused", "unknown", "reentered", "retried"},
		m.ends:     {"released", "lost", "unknown"},
		m.renewals: {"renewed", "late", "unknown"},
	} {
		for _, outcome := range outcomes {
			counter.WithLabelValues(class, outcome)
		}
	}
	m.waiters.WithLabelValues(class)
	m.unnotified.WithLabelValues(class)
}

// Observe counts an event. Pass it to lock.WithObserver.
func (m *Metrics) Observe(e lock.Event) {
	switch e.Kind {
	case lock.EventAcquired:
		m.acquires.WithLabelValues(e.Class, "acquired").Inc()
		m.wait.WithLabelValues(e.Class).Observe(e.Wait.Seconds())
	case lock.EventRefused:
		m.acquires.WithLabelValues(e.Class, "refused").Inc()
	case lock.EventUnknown:
		m.acquires.WithLabelValues(e.Class, "unknown").Inc()
	case lock.EventReentered:
		m.acquires.WithLabelValues(e.Class, "reentered").Inc()
	case lock.EventWaiting:
		m.waiters.WithLabelValues(e.Class).Inc()
	case lock.EventWaited:
		m.waiters.WithLabelValues(e.Class).Dec()
	case lock.EventRetried:
		m.acquires.WithLabelValues(e.Class, "retried").Inc()
	case lock.EventRenewed:
		m.renewals.WithLabelValues(e.Class, "renewed").Inc()
	case lock.EventRenewedLate:
		m.renewals.WithLabelValues(e.Class, "late").Inc()
	case lock.EventRenewalUnknown:
		m.renewals.WithLabelValues(e.Class, "unknown").Inc()
	case lock.EventReleased:
		m.end(e, "released")
	case lock.EventReleaseUnknown:
		m.end(e, "unknown")
	case lock.EventLost:
		m.end(e, "lost")
	case lock.EventUnnotified:
		m.unnotified.WithLabelValues(e.Class).Inc()
	}
}

func (m *Metrics) end(e lock.Event, outcome string) {
	m.ends.WithLabelValues(e.Class, outcome).Inc()
	m.hold.WithLabelValues(e.Class).Observe(e.Hold.Seconds())
}
