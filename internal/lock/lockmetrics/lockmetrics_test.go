package lockmetrics_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/lock/lockmetrics"
)

func TestEveryOutcomeIsCountedByClass(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	m, err := lockmetrics.New(registry, "local")
	if err != nil {
		t.Fatal(err)
	}
	lost := make(chan struct{})
	c := lock.New(lock.Local(), lock.WithObserver(func(e lock.Event) {
		m.Observe(e)
		if e.Kind == lock.EventLost {
			close(lost)
		}
	}))
	o := lock.Options{Class: "claim"}
	outer, err := c.Acquire(t.Context(), "key", o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Acquire(t.Context(), "key", o); !errors.Is(err, lock.ErrLocked) {
		t.Fatalf("Acquire of a locked key: %v, want ErrLocked", err)
	}
	o.Reentrant = true
	inner, err := c.Acquire(outer.Context(), "key", o)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(inner.Release(t.Context()), outer.Release(t.Context())); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Acquire(ctx, "key", o); err == nil {
		t.Fatal("Acquire with a cancelled context succeeded")
	}
	o.NoRenewal, o.TTL = true, 10*time.Millisecond
	expiring, err := c.Acquire(t.Context(), "key", o)
	if err != nil {
		t.Fatal(err)
	}
	<-lost
	_ = expiring.Release(t.Context())
	m.Observe(lock.Event{Kind: lock.EventRetried, Class: "claim"})
	m.Observe(lock.Event{Kind: lock.EventUnnotified, Class: "claim"})
	want := map[string]float64{
		"lock_acquires_total claim local retried":  1,
		"lock_acquires_total claim local acquired": 2, "lock_acquires_total claim local refused": 1,
		"lock_acquires_total claim local reentered": 1, "lock_acquires_total claim local unknown": 1,
		"lock_holds_total claim local released": 1, "lock_holds_total claim local lost": 1,
		"lock_unnotified_total claim local": 1, "lock_wait_seconds claim local": 2, "lock_hold_seconds claim local": 2,
	}
	if diff := cmp.Diff(want, gather(t, registry)); diff != "" {
		t.Error(diff)
	}
}

func TestWaitersAreCountedWhileTheyWait(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	m, err := lockmetrics.New(registry, "local")
	if err != nil {
		t.Fatal(err)
	}
	m.Observe(lock.Event{Kind: lock.EventWaiting, Class: "c"})
	m.Observe(lock.Event{Kind: lock.EventWaiting, Class: "c"})
	m.Observe(lock.Event{Kind: lock.EventWaited, Class: "c"})
	if diff := cmp.Diff(map[string]float64{"lock_waiters c local": 1}, gather(t, registry)); diff != "" {
		t.Error(diff)
	}
}

func TestCountersOfKnownClassesBeginAtZero(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	if _, err := lockmetrics.New(registry, "redis", "claim"); err != nil {
		t.Fatal(err)
	}
	got := gather(t, registry)
	for _, name := range []string{
		"lock_acquires_total claim redis acquired", "lock_acquires_total claim redis unknown",
		"lock_holds_total claim redis lost", "lock_renewals_total claim redis late", "lock_waiters claim redis",
	} {
		if n, found := got[name]; !found || n != 0 {
			t.Errorf("%s: %v, found: %v", name, n, found)
		}
	}
}

// gather returns the value of every metric by its name and labels. A histogram's
// value is the number of its samples.
func gather(t *testing.T, r *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			name := family.GetName()
			for _, label := range metric.GetLabel() {
				name += " " + label.GetValue()
			}
			got[name] = metric.GetCounter().GetValue() + metric.GetGauge().GetValue() +
				float64(metric.GetHistogram().GetSampleCount())
		}
	}
	return got
}
