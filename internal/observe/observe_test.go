package observe_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jmoiron/sqlx"
	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/coupon"
	"example.com/flashsale/internal/lab"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/observe"
	"example.com/flashsale/internal/order"
	"example.com/flashsale/internal/order/commit"
)

func TestMain(m *testing.M) { labtest.Main(m, lab.MySQLServer) }

func TestLostTracesFloodNoLog(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	_, shutDown, err := observe.Traces{}.Open(slog.New(slog.NewTextHandler(&log, nil)))
	check.NoError(t, err)
	defer shutDown()
	for range 3 {
		otel.Handle(errors.New("no receiver"))
	}
	if n := strings.Count(log.String(), "no receiver"); n != 1 {
		t.Errorf("%d of 3 failures are logged:\n%s", n, &log)
	}
}

func TestEveryOutcomeOfALockIsCountedByClass(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	count := observe.Locks(registry, "local", "known")
	lost := make(chan struct{})
	c := lock.New(lock.Local(), lock.WithObserver(func(e lock.Event) {
		count(e)
		if e.Kind == lock.EventLost {
			close(lost)
		}
	}))
	o := lock.Options{Class: "claim"}
	outer, err := c.Acquire(t.Context(), "key", o)
	check.NoError(t, err)
	if _, err := c.Acquire(t.Context(), "key", o); !errors.Is(err, lock.ErrLocked) {
		t.Fatalf("Acquire of a locked key: %v, want ErrLocked", err)
	}
	o.Reentrant = true
	inner, err := c.Acquire(outer.Context(), "key", o)
	check.NoError(t, err)
	check.NoError(t, errors.Join(inner.Release(t.Context()), outer.Release(t.Context())))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Acquire(ctx, "key", o); err == nil {
		t.Fatal("Acquire with a cancelled context succeeded")
	}
	o.NoRenewal, o.TTL = true, 10*time.Millisecond
	expiring, err := c.Acquire(t.Context(), "key", o)
	check.NoError(t, err)
	<-lost
	_ = expiring.Release(t.Context())
	for _, kind := range []lock.EventKind{lock.EventRetried, lock.EventUnnotified, lock.EventWaiting,
		lock.EventWaiting, lock.EventWaited} {
		count(lock.Event{Kind: kind, Class: "claim"})
	}
	want := map[string]float64{
		"lock_acquires_total claim local retried":  1,
		"lock_acquires_total claim local acquired": 2, "lock_acquires_total claim local refused": 1,
		"lock_acquires_total claim local reentered": 1, "lock_acquires_total claim local unknown": 1,
		"lock_holds_total claim local released": 1, "lock_holds_total claim local lost": 1,
		"lock_unnotified_total claim local": 1, "lock_wait_seconds claim local": 2, "lock_hold_seconds claim local": 2,
		"lock_waiters claim local": 1,
	}
	known := 0
	got := gather(t, registry)
	for name, n := range got {
		if strings.Contains(name, " known ") { // begins at zero
			known++
			delete(got, name)
			if n != 0 {
				t.Errorf("%s = %v", name, n)
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" || known != 13 {
		t.Errorf("%d metrics of a known class, want 13: %s", known, diff)
	}
}

func TestClaimsAreCounted(t *testing.T) {
	t.Parallel()
	r := prometheus.NewRegistry()
	c := observe.NewClaims(r)
	c.Refused(order.PrecheckFilter)
	c.Ended(commit.Transaction{Claims: 3, Orders: 2, Took: time.Second})
	c.Ended(commit.Transaction{Claims: 1, Took: time.Second})
	c.Ended(commit.Transaction{Claims: 1, Err: order.ErrUnavailable})
	checkMetrics(t, gather(t, r), map[string]float64{
		"flashsale_gate_refusals_total filter": 1, "flashsale_gate_refusals_total window": 0,
		"flashsale_batch_claims":             3,
		"flashsale_commit_seconds committed": 1, "flashsale_commit_seconds refused": 1,
		"flashsale_commit_seconds failed": 1,
	})
}

func TestScrapesShowWhetherPromisesHold(t *testing.T) {
	t.Parallel()
	db := labtest.DB(t)
	createCoupon(t, db, 1, 1, time.Hour)
	checkMetrics(t, awaitAudit(t, scraped(t, db)), map[string]float64{
		"flashsale_broken_promises oversold": 0, "flashsale_broken_promises duplicates": 0,
		"flashsale_broken_promises undersold": 0, "flashsale_broken_promises outside_window": 0,
		"flashsale_broken_promises surplus": 0, "flashsale_broken_promises overdue": 0,
	})
	createCoupon(t, db, 2, 5, -time.Hour/2)
	createCoupon(t, db, 3, 5, -2*time.Hour) // ended too long ago
	createCoupon(t, db, 4, 5, time.Hour)
	db.MustExec(`ALTER TABLE coupon_orders DROP INDEX one_each`)
	for id, o := range [][2]int{{1, 7}, {1, 8}, {1, 8}, {3, 9}, {3, 9}} { // coupon and user
		db.MustExec(`INSERT INTO coupon_orders (id, coupon_id, user_id, created_at) VALUES (?, ?, ?, NOW())`,
			id+1, o[0], o[1])
	}
	db.MustExec(`INSERT INTO coupon_orders (id, coupon_id, user_id, created_at, expires_at)
		VALUES (9, 4, 7, NOW(), NOW() - INTERVAL 90 SECOND)`)
	db.MustExec(`UPDATE coupons SET stock = IF(id = 4, 7, stock - 4) WHERE id IN (2, 4)`)
	db.MustExec(`UPDATE coupon_orders SET created_at = created_at - INTERVAL 9 DAY WHERE coupon_id = 1 AND user_id = 7`)
	r := scraped(t, db)
	broken := awaitAudit(t, r)
	checkMetrics(t, broken, map[string]float64{
		"flashsale_broken_promises oversold": 2, "flashsale_broken_promises duplicates": 1,
		"flashsale_broken_promises undersold": 4, "flashsale_broken_promises outside_window": 1,
		"flashsale_broken_promises surplus": 6, "flashsale_broken_promises overdue": 1,
	})
	db.MustExec(`UPDATE coupons SET stock = 0`)
	for range 100 { // a second audit would find the stock that was taken away
		checkMetrics(t, gather(t, r), broken)
	}
}

func TestCouponThatCannotBeAuditedHidesNoOther(t *testing.T) {
	t.Parallel()
	db := labtest.DB(t)
	createCoupon(t, db, 1, 1, time.Hour)
	createCoupon(t, db, 2, 5, time.Hour)
	db.MustExec(`ALTER TABLE coupon_updates MODIFY begin_time_from DATETIME(3) NULL`)
	db.MustExec(`INSERT INTO coupon_updates VALUES ((SELECT id FROM coupon_changes WHERE coupon_id = 1),
		'', '', NULL, NOW(), NOW(), NOW())`)
	db.MustExec(`UPDATE coupons SET stock = 3 WHERE id = 2`)
	r := scraped(t, db)
	check.Eventually(t, "coupon 2 is audited", func() bool {
		return gather(t, r)["flashsale_broken_promises undersold"] == 2
	})
	if n := gather(t, r)["flashsale_audit_timestamp_seconds"]; n > 0 {
		t.Error("audits without coupon 1 are called complete")
	}
}

// scraped returns a registry whose scrapes audit the coupons of db.
func scraped(t *testing.T, db *sqlx.DB) *prometheus.Registry {
	t.Helper()
	p := observe.NewPromises(order.NewStore(db))
	t.Cleanup(p.Close)
	r := prometheus.NewRegistry()
	r.MustRegister(p)
	return r
}

func awaitAudit(t *testing.T, r *prometheus.Registry) (got map[string]float64) {
	t.Helper()
	check.Eventually(t, "an audit", func() bool {
		got = gather(t, r)
		return got["flashsale_audit_timestamp_seconds"] > 0
	})
	return got
}

// createCoupon creates a coupon whose sale ends after end.
func createCoupon(t *testing.T, db *sqlx.DB, id int64, stock int, end time.Duration) {
	t.Helper()
	now := time.Now()
	c, err := coupon.New(id, "a coupon", now.Add(-24*time.Hour), now.Add(end), stock, now)
	check.NoError(t, err)
	if _, err := coupon.NewStore(db).Create(t.Context(), c, 1); err != nil {
		t.Fatal(err)
	}
}

func checkMetrics(t *testing.T, got, want map[string]float64) {
	t.Helper()
	for name, n := range want {
		if value, found := got[name]; value != n || !found {
			t.Errorf("%s = %v, want %v, found: %v", name, value, n, found)
		}
	}
}

// gather returns the value of every metric by its name and labels. A histogram's
// value is the number of its samples.
func gather(t *testing.T, r *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := r.Gather()
	check.NoError(t, err)
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
