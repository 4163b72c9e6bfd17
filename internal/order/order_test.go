package order_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/coupon"
	"example.com/flashsale/internal/lab"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/order"
	"example.com/flashsale/internal/order/commit"
	"example.com/flashsale/internal/order/ordertest"
)

func TestMain(m *testing.M) { labtest.Main(m, lab.MySQLServer, lab.RedisServer) }

func unguardedStock(c *ordertest.Config) { c.Strategy = commit.Unguarded }

func TestClaimNeverOversells(t *testing.T) {
	ordertest.ForEveryStrategy(t, func(s *ordertest.Sale, a, b *ordertest.Instance) {
		id := s.Coupon(1, 100)
		accepted := s.Rush(id, 400, 1, a, b)
		got := s.Audit(id)
		if accepted != 100 || got.Orders != 100 || got.Stock != 0 || got.Oversold() != 0 || got.Undersold() != 0 {
			t.Errorf("%d accepted, audit %+v", accepted, got)
		}
	})
}

// As during an upgrade that changes COMMIT: the instances commit in different
// ways.
func TestMixedStrategiesNeverOversell(t *testing.T) {
	t.Parallel()
	for _, other := range []commit.Strategy{commit.PerClaim, commit.Pessimistic, commit.GroupCommit} {
		t.Run(string(other), func(t *testing.T) {
			t.Parallel()
			s := ordertest.NewSale(t)
			a, b := s.Instance(ordertest.WithStrategy(commit.Optimistic)), s.Instance(ordertest.WithStrategy(other))
			for id := range int64(5) {
				s.Coupon(id+1, 5)
				s.Rush(id+1, 60, 1, a, b)
				if got := s.Audit(id + 1); got.Orders != 5 || got.Stock != 0 || got.Undersold() != 0 {
					t.Errorf("audit %+v", got)
				}
			}
		})
	}
}

func TestClaimOncePerUser(t *testing.T) {
	ordertest.ForEveryStrategy(t, func(s *ordertest.Sale, a, b *ordertest.Instance) {
		id := s.Coupon(1, 50)
		accepted := s.Rush(id, 1, 200, a, b)
		got := s.Audit(id)
		if accepted != 1 || got.Orders != 1 || got.MostPerUser != 1 || got.Stock != 49 {
			t.Errorf("%d accepted, audit %+v", accepted, got)
		}
	})
}

func TestEveryUnitIsSoldToRepeatedClaims(t *testing.T) {
	ordertest.ForEveryStrategy(t, func(s *ordertest.Sale, a, b *ordertest.Instance) {
		id := s.Coupon(1, 50)
		accepted := s.Rush(id, 100, 7, a, b)
		got := s.Audit(id)
		if accepted != 50 || got.Orders != 50 || got.Stock != 0 || got.Duplicates() != 0 || got.Undersold() != 0 {
			t.Errorf("%d accepted, audit %+v", accepted, got)
		}
	})
}

// The controls: without its guard a promise must break. Otherwise the tests
// above produce no overlap and prove nothing.
func TestWithoutGuardAPromiseBreaks(t *testing.T) {
	t.Parallel()
	t.Run("stock guard off", func(t *testing.T) {
		t.Parallel()
		s := ordertest.NewSale(t)
		a, b := s.Instance(unguardedStock), s.Instance(unguardedStock) // the per-user lock does not help
		for id := int64(1); id <= 20; id++ {
			s.Rush(s.Coupon(id, 20), 200, 1, a, b)
			if s.Audit(id).Oversold() > 0 {
				return
			}
		}
		t.Error("20 rushes without the guard did not oversell: no overlap")
	})
	t.Run("unique key off", func(t *testing.T) {
		t.Parallel()
		s := ordertest.NewSale(t)
		s.Exec(`ALTER TABLE coupon_orders DROP INDEX one_each`)
		perClaim := func() *ordertest.Instance {
			return s.Instance(ordertest.WithStrategy(commit.PerClaim), ordertest.WithLocker(lock.Local()))
		}
		a, b := perClaim(), perClaim() // each has a local lock of its own
		for id := int64(1); id <= 50; id++ {
			s.Rush(s.Coupon(id, 100), 1, 100, a, b)
			if s.Audit(id).Duplicates() > 0 {
				return
			}
		}
		t.Error("50 rushes of one user placed no duplicate: no overlap")
	})
}

func TestLockAloneKeepsThePromiseOfItsScope(t *testing.T) {
	t.Parallel()
	t.Run("per user, unique key off", func(t *testing.T) {
		t.Parallel()
		s := ordertest.NewSale(t)
		s.Exec(`ALTER TABLE coupon_orders DROP INDEX one_each`)
		a, b := s.Instance(ordertest.WithStrategy(commit.PerClaim)),
			s.Instance(ordertest.WithStrategy(commit.PerClaim))
		for id := int64(1); id <= 20; id++ {
			s.Rush(s.Coupon(id, 100), 1, 100, a, b)
			if got := s.Audit(id); got.Orders != 1 {
				t.Fatalf("audit %+v", got)
			}
		}
	})
	t.Run("per coupon, stock guard off", func(t *testing.T) {
		t.Parallel()
		s := ordertest.NewSale(t)
		perCoupon := func(c *ordertest.Config) { c.Order.Scope = order.PerCoupon }
		id := s.Coupon(1, 30)
		s.Rush(id, 150, 1, s.Instance(unguardedStock, perCoupon), s.Instance(unguardedStock, perCoupon))
		if got := s.Audit(id); got.Orders != 30 || got.Stock != 0 {
			t.Errorf("audit %+v", got)
		}
	})
}

// A window may have been changed after orders were made in it.
func TestAuditCountsOrdersOutsideEveryWindow(t *testing.T) {
	t.Parallel()
	s := ordertest.NewSale(t)
	s.CouponFrom(1, -5*time.Hour, -4*time.Hour, 9)
	for _, window := range [][2]time.Duration{{-8 * time.Hour, -7 * time.Hour}, {-2 * time.Hour, -time.Hour}} {
		begin, end := time.Now().Add(window[0]), time.Now().Add(window[1])
		if _, err := s.Coupons.Update(t.Context(), 1, coupon.Update{BeginTime: &begin, EndTime: &end}, 1); err != nil {
			t.Fatal(err)
		}
	}
	for i, hours := range []float64{-9, -7.5, -6, -4.5, -3, -1.5, -0.5} { // every second one is in a window
		s.Exec(`INSERT INTO coupon_orders (id, coupon_id, user_id, created_at) VALUES (?, 1, ?, ?)`, i+1, i+1,
			time.Now().Add(time.Duration(hours*float64(time.Hour))).UTC())
	}
	if a := s.Audit(1); a.OutsideWindow != 4 || a.Orders != 7 || a.DistinctUsers != 7 {
		t.Errorf("%+v", a)
	}
}

// A temporary table of millions of orders takes ten times as long as to read them. The rows that are read one after
// the other without an index are the users that have been counted.
func TestAuditCopiesNoOrders(t *testing.T) {
	t.Parallel()
	const orders = 900
	s := ordertest.NewSale(t)
	s.Coupon(1, orders)
	s.Exec(`INSERT INTO coupon_orders (id, coupon_id, user_id, created_at)
		WITH RECURSIVE n AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM n WHERE n < ?)
		SELECT n, 1, n, UTC_TIMESTAMP(3) FROM n`, orders)
	db := labtest.Open(t, s.DSN)
	db.SetMaxOpenConns(1) // the counter is the session's
	read := func() int {
		var row struct {
			Name  string `db:"Variable_name"`
			Value int    `db:"Value"`
		}
		check.NoError(t, db.Get(&row, `SHOW SESSION STATUS LIKE 'Handler_read_rnd_next'`))
		return row.Value
	}
	before := read()
	a, err := order.NewStore(db).Audit(t.Context(), 1)
	if n := read() - before; err != nil || a.DistinctUsers != orders || n >= orders*3/2 {
		t.Errorf("%+v, %v: %d rows read", a, err, n)
	}
}

// BENCHMARK stands for orders that take long to read: neither server notices in it that a client has gone.
func TestAuditThatIsGivenUpEndsAtTheServer(t *testing.T) {
	t.Parallel()
	s := ordertest.NewSale(t)
	s.Coupon(1, 1)
	s.Exec(`DROP TABLE coupon_orders_ended`)
	s.Exec(`CREATE VIEW coupon_orders_ended AS SELECT BENCHMARK(1000000000000, 1) AS coupon_id, 'expired' AS how`)
	db := labtest.Open(t, s.DSN)
	ended := func() (n int) {
		const q = `SHOW GLOBAL STATUS WHERE Variable_name IN ('Max_statement_time_exceeded', 'Max_execution_time_exceeded')`
		check.NoError(t, db.QueryRowx(q).Scan(new(string), &n))
		return n
	}
	before := ended()
	check.Eventually(t, "an audit has reached the server, which has ended it", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		if a, err := s.Orders.Audit(ctx, 1); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("%+v, %v", a, err)
		}
		return ended() > before
	})
	check.Eventually(t, "the server has ended all audits", func() bool {
		var running bool
		const q = `SELECT COUNT(*) > 0 FROM information_schema.processlist WHERE db = DATABASE() AND id <> CONNECTION_ID()
			AND info LIKE '%distinct_users%'`
		check.NoError(t, db.Get(&running, q))
		return !running
	})
}
