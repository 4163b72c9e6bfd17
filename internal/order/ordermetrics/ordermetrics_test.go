package ordermetrics_test

import (
	"testing"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/prometheus/client_golang/prometheus"

	"example.com/flashsale/internal/coupon"
	"example.com/flashsale/internal/lab"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/order"
	"example.com/flashsale/internal/order/commit"
	"example.com/flashsale/internal/order/ordermetrics"
)

func TestMain(m *testing.M) { labtest.Main(m, lab.MySQLServer) }

func TestScrapesShowBrokenPromises(t *testing.T) {
	t.Parallel()
	db := labtest.DB(t)
	createCoupon(t, db, 1, 1, time.Hour)
	createCoupon(t, db, 2, 5, time.Hour)
	createCoupon(t, db, 3, 5, -2*time.Hour) // ended too long ago
	db.MustExec(`ALTER TABLE coupon_orders DROP INDEX one_each`)
	for id, o := range [][2]int{{1, 7}, {1, 8}, {1, 8}, {3, 9}, {3, 9}} { // coupon and user
		db.MustExec(`INSERT INTO coupon_orders (id, coupon_id, user_id, created_at) VALUES (?, ?, ?, NOW())`,
			id+1, o[0], o[1])
	}
	db.MustExec(`UPDATE coupons SET stock = stock - 4 WHERE id = 2`)
	db.MustExec(`UPDATE coupon_orders SET created_at = created_at - INTERVAL 9 DAY WHERE coupon_id = 1 AND user_id = 7`)
	r := scrapedPromises(t, db)
	for name, want := range map[string]float64{"oversold": 2, "duplicates": 1, "undersold": 4, "outside_window": 1} {
		if got := r["flashsale_broken_promises "+name]; got != want {
			t.Errorf("%s = %v, want %v", name, got, want)
		}
	}
}

func TestScrapesShowThatPromisesHold(t *testing.T) {
	t.Parallel()
	db := labtest.DB(t)
	createCoupon(t, db, 1, 1, time.Hour)
	r := scrapedPromises(t, db)
	for _, name := range []string{"oversold", "duplicates", "undersold", "outside_window"} {
		if got, found := r["flashsale_broken_promises "+name]; got != 0 || !found {
			t.Errorf("%s = %v, found: %v", name, got, found)
		}
	}
}

// The second audit would find the stock that was taken away.
func TestScrapesShareAnAudit(t *testing.T) {
	t.Parallel()
	db := labtest.DB(t)
	createCoupon(t, db, 1, 1, time.Hour)
	p := ordermetrics.NewPromises(order.NewStore(db))
	t.Cleanup(p.Close)
	r := prometheus.NewRegistry()
	r.MustRegister(p)
	at := awaitAudit(t, r)["flashsale_audit_timestamp_seconds"]
	db.MustExec(`UPDATE coupons SET stock = 0`)
	for range 100 {
		got := gather(t, r)
		if got["flashsale_audit_timestamp_seconds"] != at || got["flashsale_broken_promises undersold"] != 0 {
			t.Fatalf("a scrape audited again: %v", got)
		}
	}
}

// scrapedPromises returns what a scrape shows after the first audit.
func scrapedPromises(t *testing.T, db *sqlx.DB) map[string]float64 {
	t.Helper()
	p := ordermetrics.NewPromises(order.NewStore(db))
	t.Cleanup(p.Close)
	r := prometheus.NewRegistry()
	r.MustRegister(p)
	return awaitAudit(t, r)
}

func awaitAudit(t *testing.T, r *prometheus.Registry) (got map[string]float64) {
	t.Helper()
	labtest.Eventually(t, "an audit", func() bool {
		got = gather(t, r)
		return got["flashsale_audit_timestamp_seconds"] > 0
	})
	return got
}

func TestObserverCounts(t *testing.T) {
	t.Parallel()
	r := prometheus.NewRegistry()
	o := ordermetrics.New(r)
	o.Refused(order.PrecheckFilter)
	o.Ended(commit.Transaction{Claims: 3, Orders: 2, Took: time.Second})
	o.Ended(commit.Transaction{Claims: 1, Took: time.Second})
	o.Ended(commit.Transaction{Claims: 1, Err: order.ErrUnavailable})
	got := gather(t, r)
	for name, want := range map[string]float64{
		"flashsale_gate_refusals_total filter": 1, "flashsale_gate_refusals_total window": 0,
		"flashsale_batch_claims":             3,
		"flashsale_commit_seconds committed": 1, "flashsale_commit_seconds refused": 1,
		"flashsale_commit_seconds failed": 1,
	} {
		if n, found := got[name]; n != want || !found {
			t.Errorf("%s = %v, want %v", name, n, want)
		}
	}
}

// createCoupon creates a coupon whose sale ends after end.
func createCoupon(t *testing.T, db *sqlx.DB, id int64, stock int, end time.Duration) {
	t.Helper()
	now := time.Now()
	c, err := coupon.New(id, "a coupon", now.Add(-24*time.Hour), now.Add(end), stock, now)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := coupon.NewStore(db).Create(t.Context(), c, 1); err != nil {
		t.Fatal(err)
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
