package order_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/flashsale/internal/coupon"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/order"
)

// sold reports an error unless all stock of a coupon is sold, one each.
func (s *sale) sold(couponID int64, accepted int) {
	s.t.Helper()
	a := s.audit(couponID)
	if accepted != a.InitialStock || a.Orders != a.InitialStock || a.Stock != 0 || a.MostPerUser != 1 {
		s.t.Errorf("%d accepted, audit %+v", accepted, a)
	}
}

func TestSegmentsNeverOversell(t *testing.T) {
	forEveryStrategy(t, func(t *testing.T, s *sale, a, b *order.Claims) {
		id := s.split(1, 40, 7)
		s.sold(id, s.rush(id, 100, 3, a, b))
	})
}

// Each segment has one unit, and the last claims find it wherever it is.
func TestLastUnitOfTheLastSegmentIsSold(t *testing.T) {
	forEveryStrategy(t, func(t *testing.T, s *sale, a, b *order.Claims) {
		const segments = 16
		id := s.split(1, segments, segments)
		for user := range int64(segments) {
			if _, err := []*order.Claims{a, b}[user%2].Claim(t.Context(), user, id); err != nil {
				t.Fatalf("claim %d of %d: %v", user+1, segments, err)
			}
		}
		for _, claims := range []*order.Claims{a, b} {
			if _, err := claims.Claim(t.Context(), segments, id); !errors.Is(err, coupon.ErrSoldOut) {
				t.Errorf("claim of the empty coupon: %v", err)
			}
			if _, err := claims.Claim(t.Context(), 3, id); !errors.Is(err, order.ErrAlreadyClaimed) {
				t.Errorf("second claim of a winner: %v", err)
			}
		}
	})
}

func TestUserHasOneOrderInAllSegments(t *testing.T) {
	forEveryStrategy(t, func(t *testing.T, s *sale, a, b *order.Claims) {
		id := s.split(1, 64, 64)
		if n, got := s.rush(id, 1, 100, a, b), s.audit(id); n != 1 || got.Orders != 1 || got.Stock != 63 {
			t.Errorf("%d accepted, audit %+v", n, got)
		}
	})
}

// Users claim until they have an order, while the segments are filled again.
func TestRestockOfSegmentsIsSold(t *testing.T) {
	forEveryStrategy(t, func(t *testing.T, s *sale, a, b *order.Claims) {
		const restocks, add, users = 10, 5, 60
		id := s.split(1, users-restocks*add, 8)
		var wg sync.WaitGroup
		var accepted atomic.Int64
		for user := range int64(users) {
			wg.Go(func() {
				for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); {
					_, err := []*order.Claims{a, b}[user%2].Claim(t.Context(), user, id)
					if err == nil {
						accepted.Add(1)
						return
					}
					if !errors.Is(err, coupon.ErrSoldOut) && !errors.Is(err, order.ErrClaimInProgress) {
						t.Errorf("claim: %v", err)
						return
					}
					time.Sleep(10 * time.Millisecond)
				}
			})
		}
		for range restocks {
			if _, err := s.coupons.Restock(t.Context(), id, add, 1); err != nil {
				t.Error(err)
			}
		}
		wg.Wait()
		s.sold(id, int(accepted.Load()))
	})
}

// What an instance has cached about the segments is old: it only chooses where a
// claim begins.
func TestStaleSegmentsRefuseNoClaim(t *testing.T) {
	t.Parallel()
	for _, strategy := range strategies {
		t.Run(string(strategy), func(t *testing.T) {
			t.Parallel()
			s := newSale(t)
			claims := s.instance(withStrategy(strategy), func(c *order.Config) {
				c.Coupons = coupon.NewCache(coupon.NewStore(c.DB), time.Hour)
			})
			id := s.split(1, 6, 3)
			mustClaim(t, claims, 1, id)
			db := labtest.Open(t, s.dsn)
			left := func(stocks ...int) { // as other instances leave them
				db.MustExec(`UPDATE coupons SET stock = ?`, stocks[0])
				for n, stock := range stocks[1:] {
					db.MustExec(`UPDATE coupon_segments SET stock = ? WHERE segment = ?`, stock, n+1)
				}
			}
			for user, stocks := range [][]int{{0, 0, 1}, {0, 1, 0}, {1, 0, 0}, {0, 0, 1}, {0, 1, 0}, {1, 0, 0}} {
				left(stocks...)
				mustClaim(t, claims, int64(user)+2, id)
			}
			if _, err := claims.Claim(t.Context(), 100, id); !errors.Is(err, coupon.ErrSoldOut) {
				t.Errorf("claim of the empty coupon: %v", err)
			}
		})
	}
}

// What is read about an empty segment comes from a replica that has not seen the
// last orders.
func TestClaimsBehindALaggingReplicaArePaced(t *testing.T) {
	t.Parallel()
	s, behind := newSale(t), newSale(t)
	s.split(1, 4, 2)
	behind.split(1, 4, 2)
	labtest.Open(t, s.dsn).MustExec(`UPDATE coupons SET stock = 0`)
	labtest.Open(t, s.dsn).MustExec(`UPDATE coupon_segments SET stock = 0`)
	var transactions atomic.Int64
	claims := s.instance(func(c *order.Config) {
		c.Coupons = coupon.NewCache(behind.coupons, time.Hour)
		c.Observer.Ended = func(order.Transaction) { transactions.Add(1) }
	})
	ctx, cancel := context.WithTimeout(t.Context(), 400*time.Millisecond)
	defer cancel()
	if _, err := claims.Claim(ctx, 1, 1); err == nil || errors.Is(err, coupon.ErrSoldOut) {
		t.Errorf("claim: %v, want no verdict", err)
	}
	if n := transactions.Load(); n < 2 || n > 21 {
		t.Errorf("%d transactions in 400 ms", n)
	}
}

func mustClaim(t *testing.T, claims *order.Claims, userID, couponID int64) {
	t.Helper()
	if _, err := claims.Claim(t.Context(), userID, couponID); err != nil {
		t.Fatalf("claim of user %d: %v", userID, err)
	}
}

// An instance from before the segments knows only table coupons: it sells
// segment 0 and restocks that.
func TestOlderInstanceSellsAndRestocksSegment0(t *testing.T) {
	t.Parallel()
	s := newSale(t)
	claims := s.instance()
	id := s.split(1, 8, 4)
	db := labtest.Open(t, s.dsn)
	for user := range 3 { // the third finds no stock
		const sell = `UPDATE coupons SET stock = stock - 1 WHERE id = 1 AND stock >= 1`
		if n, err := db.MustExec(sell).RowsAffected(); err != nil {
			t.Fatal(err)
		} else if n == 1 {
			db.MustExec(`INSERT INTO coupon_orders (id, coupon_id, user_id, created_at) VALUES (?, 1, ?, NOW())`, user+1, 1000+user)
		}
	}
	db.MustExec(`UPDATE coupons SET stock = stock + 5, initial_stock = initial_stock + 5, version = version + 1 WHERE id = 1`)
	s.sold(id, 2+s.rush(id, 50, 1, claims))
}

// The claims of a batch are of many segments of many coupons, and two instances
// commit such batches at once, with brief waits for locks.
func TestBatchesOfManySegmentsAllSucceed(t *testing.T) {
	t.Parallel()
	s := newSale(t)
	var failed atomic.Int64
	watch := func(c *order.Config) {
		c.Observer.Ended = func(t order.Transaction) {
			if t.Err != nil {
				failed.Add(1)
			}
		}
	}
	a, b := s.instance(withLocker(lock.None()), watch), s.instance(withLocker(lock.None()), watch)
	var wg sync.WaitGroup
	for id := range int64(8) {
		s.split(id+1, 40, 1+int(id)*3)
		wg.Go(func() { s.sold(id+1, s.rush(id+1, 120, 1, a, b)) })
	}
	wg.Wait()
	if n := failed.Load(); n != 0 {
		t.Errorf("%d transactions failed", n)
	}
}

func perSegment(c *order.Config) { c.Scope = order.PerSegment }

// Claims of one segment wait for each other, those of another one do not.
func TestLockPerSegmentLocksOneSegment(t *testing.T) {
	t.Parallel()
	s := newSale(t)
	id := s.split(1, 64, 4)
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
	entered := func(c *order.Config) { c.Enter = enter }
	s.sold(id, s.rush(id, 100, 1, s.instance(perSegment, entered), s.instance(perSegment, entered)))
	if most < 2 {
		t.Error("claims of different segments waited for each other")
	}
}

func TestLockPerSegmentAloneKeepsTheStock(t *testing.T) {
	t.Parallel()
	s := newSale(t)
	id := s.split(1, 30, 4)
	s.sold(id, s.rush(id, 150, 1, s.instance(unguardedStock, perSegment), s.instance(unguardedStock, perSegment)))
}

// The control: without the lock, claims overlap in a segment.
func TestSegmentsWithoutLockAndGuardOversell(t *testing.T) {
	t.Parallel()
	s := newSale(t)
	unlocked := withLocker(lock.None())
	a, b := s.instance(unguardedStock, perSegment, unlocked), s.instance(unguardedStock, perSegment, unlocked)
	for id := int64(1); id <= 20; id++ {
		s.rush(s.split(id, 20, 4), 200, 1, a, b)
		if s.audit(id).Oversold() > 0 {
			return
		}
	}
	t.Error("20 rushes without lock and guard did not oversell: no overlap")
}
