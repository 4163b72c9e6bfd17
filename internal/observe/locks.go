package observe

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"example.com/flashsale/internal/lock"
)

// outcomes says which counter counts an event of a lock, and as what.
var outcomes = map[lock.EventKind]struct{ counter, outcome string }{
	lock.EventAcquired:       {"lock_acquires_total", "acquired"},
	lock.EventRefused:        {"lock_acquires_total", "refused"},
	lock.EventUnknown:        {"lock_acquires_total", "unknown"},
	lock.EventReentered:      {"lock_acquires_total", "reentered"},
	lock.EventRetried:        {"lock_acquires_total", "retried"},
	lock.EventReleased:       {"lock_holds_total", "released"},
	lock.EventLost:           {"lock_holds_total", "lost"},
	lock.EventReleaseUnknown: {"lock_holds_total", "unknown"},
	lock.EventRenewed:        {"lock_renewals_total", "renewed"},
	lock.EventRenewedLate:    {"lock_renewals_total", "late"},
	lock.EventRenewalUnknown: {"lock_renewals_total", "unknown"},
}

type locks struct {
	counters   map[string]*prometheus.CounterVec
	wait, hold *prometheus.HistogramVec
	waiters    *prometheus.GaugeVec
	unnotified *prometheus.CounterVec
}

// Locks returns an observer (see lock.WithObserver) that counts the events of a driver's locks by
// their class. The counters of classes begin at zero.
func Locks(r prometheus.Registerer, driver string, classes ...string) func(lock.Event) {
	r = prometheus.WrapRegistererWith(prometheus.Labels{"driver": driver}, r)
	buckets := prometheus.ExponentialBuckets(0.0001, 4, 10) // 0.1 ms to 26 s
	l := locks{
		counters: map[string]*prometheus.CounterVec{},
		wait:     histograms(r, "lock_wait_seconds", "Time until a lock was acquired.", buckets, "class"),
		hold:     histograms(r, "lock_hold_seconds", "Time from acquiring a lock to its end.", buckets, "class"),
		waiters: promauto.With(r).NewGaugeVec(prometheus.GaugeOpts{
			Name: "lock_waiters", Help: "Calls that wait for a lock now.",
		}, []string{"class"}),
		unnotified: counters(r, "lock_unnotified_total",
			"Releases of which the service refused to notify the waiters, which poll then; in Redis the user lacks a channel (ACL &…).",
			"class", classes...),
	}
	for _, opts := range []prometheus.CounterOpts{
		{Name: "lock_acquires_total", Help: "Attempts to acquire a lock: acquired, refused (another holds it), unknown or reentered; retried is a request of a waiter that was repeated after an unknown outcome."},
		{Name: "lock_holds_total", Help: "Acquired locks that ended: released, lost or unknown."},
		{Name: "lock_renewals_total", Help: "Extensions of leases: renewed, late (with less than a third of the TTL left) or unknown."},
	} {
		l.counters[opts.Name] = promauto.With(r).NewCounterVec(opts, []string{"class", "outcome"})
	}
	for _, class := range classes {
		for _, o := range outcomes {
			l.counters[o.counter].WithLabelValues(class, o.outcome)
		}
		l.waiters.WithLabelValues(class)
	}
	return l.observe
}

func (l locks) observe(e lock.Event) {
	if o, ok := outcomes[e.Kind]; ok {
		l.counters[o.counter].WithLabelValues(e.Class, o.outcome).Inc()
	}
	switch e.Kind {
	case lock.EventAcquired:
		l.wait.WithLabelValues(e.Class).Observe(e.Wait.Seconds())
	case lock.EventReleased, lock.EventReleaseUnknown, lock.EventLost:
		l.hold.WithLabelValues(e.Class).Observe(e.Hold.Seconds())
	case lock.EventWaiting:
		l.waiters.WithLabelValues(e.Class).Inc()
	case lock.EventWaited:
		l.waiters.WithLabelValues(e.Class).Dec()
	case lock.EventUnnotified:
		l.unnotified.WithLabelValues(e.Class).Inc()
	}
}
