package order_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/coupon"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/order"
	"example.com/flashsale/internal/order/commit"
	"example.com/flashsale/internal/order/ordertest"
)

// sold reports an error unless all stock of a coupon is sold, one each.
func sold(s *ordertest.Sale, couponID int64, accepted int) {
	s.T.Helper()
	a := s.Audit(couponID)
	if accepted != a.InitialStock || a.Orders != a.InitialStock || a.Stock != 0 || a.MostPerUser != 1 {
		s.T.Errorf("%d accepted, audit %+v", accepted, a)
	}
}

// Each segment has one unit, and the last claims find it wherever it is.
func TestLastUnitOfTheLastSegmentIsSold(t *testing.T) {
	ordertest.ForEveryStrategy(t, func(s *ordertest.Sale, a, b *ordertest.Instance) {
		const segments = 16
		id := s.Split(1, segments, segments)
		for user := range int64(segments) {
			var err error
			check.Eventually(s.T, "the claim has a verdict", func() bool {
				_, err = []*ordertest.Instance{a, b}[user%2].Claim(s.T.Context(), user, id)
				return !errors.Is(err, order.ErrUnavailable) // as a machine that stalls is
			})
			if err != nil && !errors.Is(err, order.ErrAlreadyClaimed) {
				s.T.Fatalf("claim %d of %d: %v", user+1, segments, err)
			}
		}
		for _, claims := range []*ordertest.Instance{a, b} {
			ordertest.WantClaim(s.T, claims, segments, id, coupon.ErrSoldOut)
			ordertest.WantClaim(s.T, claims, 3, id, order.ErrAlreadyClaimed)
		}
	})
}

// Users claim until they have an order, while the segments are filled again.
func TestRestockOfSegmentsIsSold(t *testing.T) {
	ordertest.ForEveryStrategy(t, func(s *ordertest.Sale, a, b *ordertest.Instance) {
		const restocks, add, users = 10, 5, 60
		id := s.Split(1, users-restocks*add, 8)
		var wg sync.WaitGroup
		var accepted atomic.Int64
		for user := range int64(users) {
			wg.Go(func() {
				for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
					_, err := []*ordertest.Instance{a, b}[user%2].Claim(t.Context(), user, id)
					switch {
					case err == nil, errors.Is(err, order.ErrAlreadyClaimed): // by a claim that was unavailable
						accepted.Add(1)
						return
					case errors.Is(err, coupon.ErrSoldOut), errors.Is(err, order.ErrClaimInProgress):
					case errors.Is(err, order.ErrUnavailable) && errors.Is(err, context.DeadlineExceeded): // stalled
					default:
						t.Errorf("claim: %v", err)
						return
					}
					time.Sleep(10 * time.Millisecond)
				}
			})
		}
		for range restocks {
			s.Restock(id, add)
		}
		wg.Wait()
		sold(s, id, int(accepted.Load()))
	})
}

// What an instance has cached of a coupon is old, and its stock may be in any segment.
func TestStaleSegmentsRefuseNoClaim(t *testing.T) {
	ordertest.ForStrategies(t, commit.Strategies, func(t *testing.T, s *ordertest.Sale, strategy commit.Strategy) {
		claims := s.Instance(ordertest.WithStrategy(strategy), func(c *ordertest.Config) {
			c.Order.Coupons = coupon.NewCache(coupon.NewStore(c.Commit.DB), time.Hour)
		})
		id := s.Split(1, 6, 3)
		ordertest.WantClaim(t, claims, 1, id, nil)
		db := labtest.Open(t, s.DSN)
		left := func(stocks ...int) { // as other instances leave them
			db.MustExec(`UPDATE coupons SET stock = ?`, stocks[0])
			for n, stock := range stocks[1:] {
				db.MustExec(`UPDATE coupon_segments SET stock = ? WHERE segment = ?`, stock, n+1)
			}
		}
		for user, stocks := range [][]int{{0, 0, 1}, {0, 1, 0}, {1, 0, 0}, {0, 0, 1}, {0, 1, 0}, {1, 0, 0}} {
			left(stocks...)
			ordertest.WantClaim(t, claims, int64(user)+2, id, nil)
		}
		ordertest.WantClaim(t, claims, 100, id, coupon.ErrSoldOut)
	})
}

// A coupon is read from a replica that has not seen the last orders, or the last restock:
// the primary is asked what is left.
func TestLaggingReplicaDecidesNothing(t *testing.T) {
	t.Parallel()
	s, behind := ordertest.NewSale(t), ordertest.NewSale(t)
	s.Split(1, 4, 2)
	behind.Split(1, 4, 2)
	claims := s.Instance(func(c *ordertest.Config) { c.Order.Coupons = coupon.NewCache(behind.Coupons, 0) })
	for user := range int64(4) {
		ordertest.WantClaim(t, claims, user, 1, nil)
	}
	ordertest.WantClaim(t, claims, 5, 1, coupon.ErrSoldOut)
	s.Restock(1, 1)
	ordertest.WantClaim(t, claims, 5, 1, nil)
}

// An instance from before the segments knows only table coupons: it sells
// segment 0 and restocks that.
func TestOlderInstanceSellsAndRestocksSegment0(t *testing.T) {
	t.Parallel()
	s := ordertest.NewSale(t)
	claims := s.Instance()
	id := s.Split(1, 8, 4)
	db := labtest.Open(t, s.DSN)
	for user := range 3 { // the third finds no stock
		const sell = `UPDATE coupons SET stock = stock - 1 WHERE id = 1 AND stock >= 1`
		if n, err := db.MustExec(sell).RowsAffected(); err != nil {
			t.Fatal(err)
		} else if n == 1 {
			db.MustExec(`INSERT INTO coupon_orders (id, coupon_id, user_id, created_at) VALUES (?, 1, ?, NOW())`,
				user+1, 1000+user)
		}
	}
	db.MustExec(`UPDATE coupons SET stock = stock + 5, initial_stock = initial_stock + 5, version = version + 1 WHERE id = 1`)
	sold(s, id, 2+s.Rush(id, 50, 1, claims))
}

// The claims of a batch are of many segments of many coupons, and two instances
// commit such batches at once, with brief waits for locks.
func TestBatchesOfManySegmentsAllSucceed(t *testing.T) {
	t.Parallel()
	s := ordertest.NewSale(t)
	var failed atomic.Int64
	watch := func(c *ordertest.Config) {
		c.Commit.Ended = func(t commit.Transaction) {
			if t.Err != nil && !errors.Is(t.Err, context.DeadlineExceeded) { // by a stall
				failed.Add(1)
			}
		}
	}
	a, b := s.Instance(ordertest.WithLocker(lock.None()), watch), s.Instance(ordertest.WithLocker(lock.None()), watch)
	var wg sync.WaitGroup
	for id := range int64(8) {
		s.Split(id+1, 40, 1+int(id)*3)
		wg.Go(func() { sold(s, id+1, s.Rush(id+1, 120, 1, a, b)) })
	}
	wg.Wait()
	if n := failed.Load(); n != 0 {
		t.Errorf("%d transactions failed", n)
	}
}

func perSegment(c *ordertest.Config) { c.Order.Scope = order.PerSegment }

// Claims of one segment wait for each other, those of another one do not.
func TestLockPerSegmentLocksOneSegment(t *testing.T) {
	t.Parallel()
	s := ordertest.NewSale(t)
	id := s.Split(1, 64, 4)
	var mu sync.Mutex
	held, most := map[string]int{}, 0
	enter := func(_ context.Context, section order.Section) (leave func()) {
		mu.Lock()
		defer mu.Unlock()
		if held[section.Key]++; held[section.Key] > 1 {
			t.Errorf("two claims hold %s", section.Key)
		}
		most = max(most, len(held))
		return func() {
			time.Sleep(5 * time.Millisecond)
			mu.Lock()
			defer mu.Unlock()
			delete(held, section.Key)
		}
	}
	entered := func(c *ordertest.Config) { c.Order.Enter = enter }
	sold(s, id, s.Rush(id, 100, 1, s.Instance(perSegment, entered), s.Instance(perSegment, entered)))
	if most < 2 {
		t.Error("claims of different segments waited for each other")
	}
}

// A claim that has no other guard than the lock has read that a segment has a unit, and takes it late.
func TestRefillTakesNothingFromALockedSegment(t *testing.T) {
	t.Parallel()
	s := ordertest.NewSale(t)
	id := s.Split(1, 2, 2)
	var users [2][]int64 // of each segment
	for user := range int64(20) {
		own := order.OwnSegment(coupon.Coupon{Segments: 2}, user).Number
		users[own] = append(users[own], user)
	}
	proxy, through := s.Proxied()
	slow := s.Instance(unguardedStock, perSegment, through)
	other := s.Instance(unguardedStock, perSegment, func(c *ordertest.Config) { c.Order.LockWait = time.Millisecond })
	ordertest.WantClaim(t, slow, users[1][0], id, nil)
	held := proxy.Hold("UPDATE coupons SET stock")
	claimed := ordertest.Claim(t.Context(), slow, users[0][0], id)
	check.Eventually(t, "a claim is about to take the last unit", held.Caught)
	if o, err := other.Claim(t.Context(), users[1][1], id); err == nil {
		t.Errorf("its unit was moved and sold: %+v", o)
	}
	held.Deliver()
	check.NoError(t, <-claimed)
}
