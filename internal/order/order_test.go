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

// A rush is a sale at two instances that lack guards.
type rush struct {
	keyless                         bool // without the unique key
	scope                           order.Scope
	locker                          func() lock.Locker // nil: the shipped one
	strategy                        commit.Strategy
	segments, stock, users, repeats int
	broken                          func(order.Audit) int
}

var (
	soldWithoutGuard = rush{scope: order.PerUser, strategy: commit.Unguarded,
		segments: 1, stock: 20, users: 100, repeats: 1, broken: order.Audit.Oversold}
	claimedWithoutKey = rush{keyless: true, scope: order.PerUser, strategy: commit.PerClaim,
		segments: 1, stock: 100, users: 1, repeats: 100, broken: order.Audit.Duplicates}
)

// breaks sells coupons, one after the other, and reports whether a promise has broken.
func (r rush) breaks(t *testing.T, coupons int) bool {
	t.Helper()
	s := ordertest.NewSale(t)
	if r.keyless {
		s.Exec(`ALTER TABLE coupon_orders DROP INDEX one_each`)
	}
	change := func(c *ordertest.Config) {
		c.Strategy, c.Order.Scope = r.strategy, r.scope
		if r.locker != nil {
			c.Order.Locks = lock.New(r.locker())
		}
	}
	a, b := s.Instance(change), s.Instance(change)
	for id := range int64(coupons) {
		s.Rush(s.Split(id+1, r.stock, r.segments), r.users, r.repeats, a, b)
		if r.broken(s.Audit(id+1)) > 0 {
			return true
		}
	}
	return false
}

// The controls: without its guard a promise must break. Otherwise the tests
// above produce no overlap and prove nothing.
func TestWithoutGuardAPromiseBreaks(t *testing.T) {
	t.Parallel()
	keyless, segments := claimedWithoutKey, soldWithoutGuard
	keyless.locker = lock.Local
	segments.scope, segments.segments, segments.locker = order.PerSegment, 4, lock.None
	for name, r := range map[string]rush{
		"stock guard off": soldWithoutGuard, "unique key off": keyless, "stock guard of segments off": segments,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if !r.breaks(t, 50) {
				t.Error("50 rushes broke no promise: no overlap")
			}
		})
	}
}

func TestLockAloneKeepsThePromiseOfItsScope(t *testing.T) {
	t.Parallel()
	coupons, segments := soldWithoutGuard, soldWithoutGuard
	coupons.scope = order.PerCoupon
	segments.scope, segments.segments = order.PerSegment, 4
	for name, r := range map[string]rush{
		"user, unique key off": claimedWithoutKey, "coupon, stock guard off": coupons,
		"segment, stock guard off": segments,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if r.breaks(t, 3) {
				t.Error("a promise has broken")
			}
		})
	}
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
		SELECT n, 1, n, UTC_TIMESTAMP(3) FROM ` + labtest.Numbers(orders))
	db := labtest.Open(t, s.DSN)
	const read = "Handler_read_rnd_next"
	before := labtest.SessionStatus(t, db, read)
	a, err := order.NewStore(db).Audit(t.Context(), 1)
	if n := labtest.SessionStatus(t, db, read) - before; err != nil || a.DistinctUsers != orders || n >= orders*3/2 {
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
