package order_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/flashsale/internal/connect"
	"example.com/flashsale/internal/coupon"
	"example.com/flashsale/internal/idgen"
	"example.com/flashsale/internal/lab"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/lock/redislock"
	"example.com/flashsale/internal/order"
)

func TestMain(m *testing.M) { labtest.Main(m) }

// A sale is a database and a Redis, used by any number of instances.
type sale struct {
	t       *testing.T
	dsn     string
	redis   *lab.Redis
	coupons *coupon.Store
	orders  *order.Store
}

func newSale(t *testing.T) *sale {
	t.Helper()
	dsn := labtest.DSN(t)
	db := labtest.Open(t, dsn)
	return &sale{t, dsn, labtest.Redis(t), coupon.NewStore(db), order.NewStore(db)}
}

// instance opens another instance of the service on the sale, with pools of its
// own. Without changes it is configured as shipped.
func (s *sale) instance(change ...func(*order.Config)) *order.Claims {
	s.t.Helper()
	c := s.config()
	for _, f := range change {
		f(&c)
	}
	claims, err := order.New(c)
	if err != nil {
		s.t.Fatal(err)
	}
	return claims
}

func (s *sale) config() order.Config {
	s.t.Helper()
	return s.configOn(s.dsn)
}

// configOn is config with MySQL at dsn. The options are for batches.
func (s *sale) configOn(dsn string, options ...connect.Option) order.Config {
	s.t.Helper()
	db, rdb := labtest.Open(s.t, dsn, connect.ShortTransactions), labtest.Dial(s.t, s.redis)
	store, standalone := coupon.NewStore(db), new(atomic.Bool)
	options = append(options, connect.BriefLockWaits, connect.MultiStatements, connect.DetectCluster(standalone))
	return order.Config{
		DB: db, BatchDB: labtest.Open(s.t, dsn, options...), Standalone: standalone.Load,
		Coupons: coupon.NewCache(store, 50*time.Millisecond), IDs: idgen.New(rdb, "order"),
		Locks: lock.New(redislock.New(rdb)), Scope: order.PerUser, LockTTL: 10 * time.Second, LockWait: 10 * time.Second,
		Strategy: order.GroupCommit,
	}
}

func withLocker(l lock.Locker) func(*order.Config) {
	return func(c *order.Config) { c.Locks = lock.New(l) }
}

func unguardedStock(c *order.Config) { c.Strategy = order.Unguarded }

func withStrategy(strategy order.Strategy) func(*order.Config) {
	return func(c *order.Config) { c.Strategy = strategy }
}

var strategies = []order.Strategy{order.PerClaim, order.Optimistic, order.Pessimistic, order.GroupCommit}

// coupon puts a coupon on sale and returns its id.
func (s *sale) coupon(id int64, stock int) int64 {
	s.t.Helper()
	s.couponFrom(id, -time.Hour, time.Hour, stock)
	return id
}

// split is coupon with the stock in segments.
func (s *sale) split(id int64, stock, segments int) int64 {
	s.t.Helper()
	now := time.Now()
	c, err := coupon.New(id, "a coupon", now.Add(-time.Hour), now.Add(time.Hour), stock, now)
	if err == nil {
		c, err = c.Split(segments)
	}
	if err == nil {
		err = s.coupons.Create(s.t.Context(), c, 1)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return id
}

// couponFrom creates a coupon with begin and end counted from now.
func (s *sale) couponFrom(id int64, begin, end time.Duration, stock int) {
	s.t.Helper()
	now := time.Now()
	c, err := coupon.New(id, "a coupon", now.Add(begin), now.Add(end), stock, now)
	if err != nil {
		s.t.Fatal(err)
	}
	if err := s.coupons.Create(s.t.Context(), c, 1); err != nil {
		s.t.Fatal(err)
	}
}

func (s *sale) dropUniqueKey() {
	s.t.Helper()
	if _, err := labtest.Open(s.t, s.dsn).ExecContext(s.t.Context(), `ALTER TABLE coupon_orders DROP INDEX one_each`); err != nil {
		s.t.Fatal(err)
	}
}

func (s *sale) audit(couponID int64) order.Audit {
	s.t.Helper()
	a, err := s.orders.Audit(context.Background(), couponID)
	if err != nil {
		s.t.Fatal(err)
	}
	return a
}

// rush sends times concurrent claims of every user, spread over the instances,
// and returns how many returned an order. Errors other than the verdicts of a
// sale fail the test.
func (s *sale) rush(couponID int64, users, times int, instances ...*order.Claims) int {
	s.t.Helper()
	var accepted atomic.Int64
	var wg sync.WaitGroup
	start := make(chan struct{})
	for n := range users * times {
		wg.Go(func() {
			<-start
			_, err := instances[n%len(instances)].Claim(s.t.Context(), int64(n%users)+1, couponID)
			switch {
			case err == nil:
				accepted.Add(1)
			case errors.Is(err, coupon.ErrSoldOut), errors.Is(err, order.ErrAlreadyClaimed), errors.Is(err, order.ErrClaimInProgress):
			default:
				s.t.Errorf("claim: %v", err)
			}
		})
	}
	close(start)
	wg.Wait()
	return int(accepted.Load())
}

// forEveryStrategy runs test on two instances of a sale, for each strategy with
// the shipped lock and without a lock: the promises must hold without one.
func forEveryStrategy(t *testing.T, test func(t *testing.T, s *sale, a, b *order.Claims)) {
	t.Parallel()
	for _, strategy := range strategies {
		for name, change := range map[string][]func(*order.Config){
			"user lock": {withStrategy(strategy)},
			"no lock":   {withStrategy(strategy), withLocker(lock.None())},
		} {
			t.Run(string(strategy)+", "+name, func(t *testing.T) {
				t.Parallel()
				s := newSale(t)
				test(t, s, s.instance(change...), s.instance(change...))
			})
		}
	}
}

func TestNewRefusesAnIncompleteOrUnknownConfig(t *testing.T) {
	t.Parallel()
	s := newSale(t)
	for name, change := range map[string]func(*order.Config){
		"unknown strategy": func(c *order.Config) { c.Strategy = "batched" },
		"no strategy":      func(c *order.Config) { c.Strategy = "" },
		"unknown scope":    func(c *order.Config) { c.Scope = "sale" },
		"no scope":         func(c *order.Config) { c.Scope = "" },
		"no coupon cache":  func(c *order.Config) { c.Coupons = nil },
		"no batch pool":    func(c *order.Config) { c.BatchDB = nil },
	} {
		c := s.config()
		change(&c)
		if _, err := order.New(c); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestClaimNeverOversells(t *testing.T) {
	forEveryStrategy(t, func(t *testing.T, s *sale, a, b *order.Claims) {
		id := s.coupon(1, 100)
		accepted := s.rush(id, 400, 1, a, b)
		got := s.audit(id)
		if accepted != 100 || got.Orders != 100 || got.Stock != 0 || got.Oversold() != 0 || got.Undersold() != 0 {
			t.Errorf("%d accepted, audit %+v", accepted, got)
		}
	})
}

// As during an upgrade that changes COMMIT: the instances commit in different
// ways.
func TestMixedStrategiesNeverOversell(t *testing.T) {
	t.Parallel()
	for _, other := range []order.Strategy{order.PerClaim, order.Pessimistic, order.GroupCommit} {
		t.Run(string(other), func(t *testing.T) {
			t.Parallel()
			s := newSale(t)
			a, b := s.instance(withStrategy(order.Optimistic)), s.instance(withStrategy(other))
			for id := range int64(5) {
				s.coupon(id+1, 5)
				s.rush(id+1, 60, 1, a, b)
				if got := s.audit(id + 1); got.Orders != 5 || got.Stock != 0 || got.Undersold() != 0 {
					t.Errorf("audit %+v", got)
				}
			}
		})
	}
}

func TestClaimOncePerUser(t *testing.T) {
	forEveryStrategy(t, func(t *testing.T, s *sale, a, b *order.Claims) {
		id := s.coupon(1, 50)
		accepted := s.rush(id, 1, 200, a, b)
		got := s.audit(id)
		if accepted != 1 || got.Orders != 1 || got.MostPerUser != 1 || got.Stock != 49 {
			t.Errorf("%d accepted, audit %+v", accepted, got)
		}
	})
}

func TestEveryUnitIsSoldToRepeatedClaims(t *testing.T) {
	forEveryStrategy(t, func(t *testing.T, s *sale, a, b *order.Claims) {
		id := s.coupon(1, 50)
		accepted := s.rush(id, 100, 7, a, b)
		got := s.audit(id)
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
		s := newSale(t)
		a, b := s.instance(unguardedStock), s.instance(unguardedStock) // the per-user lock does not help
		for id := int64(1); id <= 20; id++ {
			s.rush(s.coupon(id, 20), 200, 1, a, b)
			if s.audit(id).Oversold() > 0 {
				return
			}
		}
		t.Error("20 rushes without the guard did not oversell: no overlap")
	})
	t.Run("unique key off", func(t *testing.T) {
		t.Parallel()
		s := newSale(t)
		s.dropUniqueKey()
		perClaim := func() *order.Claims { return s.instance(withStrategy(order.PerClaim), withLocker(lock.Local())) }
		a, b := perClaim(), perClaim() // each has a local lock of its own
		for id := int64(1); id <= 50; id++ {
			s.rush(s.coupon(id, 100), 1, 100, a, b)
			if s.audit(id).Duplicates() > 0 {
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
		s := newSale(t)
		s.dropUniqueKey()
		a, b := s.instance(withStrategy(order.PerClaim)), s.instance(withStrategy(order.PerClaim))
		for id := int64(1); id <= 20; id++ {
			s.rush(s.coupon(id, 100), 1, 100, a, b)
			if got := s.audit(id); got.Orders != 1 {
				t.Fatalf("audit %+v", got)
			}
		}
	})
	t.Run("per coupon, stock guard off", func(t *testing.T) {
		t.Parallel()
		s := newSale(t)
		perCoupon := func(c *order.Config) { c.Scope = order.PerCoupon }
		id := s.coupon(1, 30)
		s.rush(id, 150, 1, s.instance(unguardedStock, perCoupon), s.instance(unguardedStock, perCoupon))
		if got := s.audit(id); got.Orders != 30 || got.Stock != 0 {
			t.Errorf("audit %+v", got)
		}
	})
}
