package order_test

import (
	"errors"
	"math"
	"sync"
	"testing"
	"time"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/coupon"
	"example.com/flashsale/internal/faultproxy"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/order"
	"example.com/flashsale/internal/order/commit"
	"example.com/flashsale/internal/order/life"
	"example.com/flashsale/internal/order/ordertest"
)

// sharded makes an instance take the database for a sharded one.
func sharded(c *ordertest.Config) { c.Commit.Sharded = func() bool { return true } }

// usersOf returns n users of a segment of coupon 1.
func usersOf(segment, segments, n int) (users []int64) {
	for user := int64(1); len(users) < n; user++ {
		if order.OwnSegment(coupon.Coupon{ID: 1, Segments: segments}, user).Number == segment {
			users = append(users, user)
		}
	}
	return users
}

// All users are of one segment: all stock moves to it, in few transfers.
func TestStockMovesToTheSegmentThatSells(t *testing.T) {
	t.Parallel()
	const stock, segments, first = 200, 8, 3
	for _, strategy := range []commit.Strategy{commit.PerClaim, commit.GroupCommit} {
		for name, form := range map[string]func(*ordertest.Config){
			"one database": func(*ordertest.Config) {}, "sharded": sharded,
		} {
			t.Run(string(strategy)+", "+name, func(t *testing.T) {
				t.Parallel()
				s := ordertest.NewSale(t)
				id := s.Split(1, stock, segments)
				proxy, through := s.Proxied()
				claims := s.Instance(through, form, ordertest.WithStrategy(strategy),
					ordertest.WithLocker(lock.None()))
				proxy.Inject(faultproxy.Fault{}, "SET stock = stock + ", faultproxy.Always)
				sold(s, id, s.RushOf(id, usersOf(first, segments, stock*5/4), claims))
				// An attempt that finds the stock changed counts as well.
				transfers, most := proxy.Hits()/2, 2*(segments-1)*int(math.Log2(stock/segments)+2)
				if transfers < segments-1 || transfers > most {
					t.Errorf("%d transfers, want %d to %d", transfers, segments-1, most)
				}
			})
		}
	}
}

// An instance dies when it has sent units and before they arrive. They are stock, and
// sold to whoever comes next.
func TestTransferIsCompletedByAnotherInstance(t *testing.T) {
	t.Parallel()
	for _, next := range []int{0, 1} {
		s := ordertest.NewSale(t)
		id := s.Split(1, 6, 2)
		s.Exec(`UPDATE coupons SET stock = 6`)
		s.Exec(`UPDATE coupon_segments SET stock = 0`)
		proxy, through := s.Proxied()
		dies, lives := s.Instance(through, sharded), s.Instance(sharded)
		proxy.Inject(faultproxy.LoseRequest, "SUM(units), 0) FROM coupon_transfers", faultproxy.Always)
		users := usersOf(1, 2, 10)
		if _, err := dies.Claim(t.Context(), users[0], id); err == nil || errors.Is(err, coupon.ErrSoldOut) {
			t.Fatalf("claim: %v, want no verdict", err)
		}
		var left int
		s.Get(&left, `SELECT stock FROM coupons`)
		if a := s.Audit(id); left != 3 || a.Stock != 6 || a.Orders != 0 {
			t.Fatalf("%d units in segment 0, audit %+v; want 3 of 6 under way", left, a)
		}
		buyers := usersOf(next, 2, 7)
		for _, user := range buyers[:6] {
			ordertest.WantClaim(t, lives, user, id, nil)
		}
		ordertest.WantClaim(t, lives, buyers[6], id, coupon.ErrSoldOut)
		sold(s, id, 6)
	}
}

// At every instant stock and orders add up to what was put on sale, whatever instances
// send, return, restock and lose.
func TestTransfersAddUpWithReturnsAndRestocks(t *testing.T) {
	t.Parallel()
	const stock, restocks, add, each, segments = 40, 5, 6, 40, 4
	s := ordertest.NewSale(t)
	id := s.Split(1, stock, segments)
	proxy, through := s.Proxied()
	a, b := s.Instance(through, sharded), s.Instance(sharded, ordertest.WithStrategy(commit.PerClaim))
	db := labtest.Open(t, s.DSN)
	orders := life.New(db, coupon.NewCache(s.Coupons, 0), false, nil)
	var clients, others sync.WaitGroup
	ended := make(chan struct{})
	for _, segment := range []int{0, 2} {
		for n, user := range usersOf(segment, segments, each) {
			clients.Go(func() {
				o, err := []*ordertest.Instance{a, b}[n%2].Claim(t.Context(), user, id)
				if err == nil && n%4 == 0 {
					_, err = orders.Return(t.Context(), o.ID, life.Caller{UserID: user, Admin: true})
				}
				if err != nil && !errors.Is(err, coupon.ErrSoldOut) && !errors.Is(err, order.ErrUnavailable) {
					t.Errorf("user %d: %v", user, err)
				}
			})
		}
	}
	clients.Go(func() {
		for range restocks {
			if _, err := s.Coupons.Restock(t.Context(), id, add, 1); err != nil {
				t.Error(err)
			}
		}
	})
	others.Go(func() {
		for {
			if a := s.Audit(id); a.Stock+a.Orders != a.InitialStock {
				t.Errorf("audit %+v: not added up", a)
				return
			}
			select {
			case <-ended:
				return
			case <-time.After(5 * time.Millisecond):
				proxy.Disconnect()
			}
		}
	})
	clients.Wait()
	close(ended)
	others.Wait()
	last := usersOf(1, segments, stock+restocks*add+1)
	for _, user := range last {
		if _, err := b.Claim(t.Context(), user, id); err != nil {
			if a := s.Audit(id); !errors.Is(err, coupon.ErrSoldOut) || a.Stock != 0 || a.Orders != a.InitialStock {
				t.Errorf("%v, audit %+v, want all sold", err, a)
			}
			return
		}
	}
	t.Error("the coupon is never sold out")
}

// Between the read of the richest segment and the transfer its units are sold.
func TestTransferThatComesTooLateMovesNothing(t *testing.T) {
	t.Parallel()
	for name, form := range map[string]func(*ordertest.Config){
		"one database": func(*ordertest.Config) {}, "sharded": sharded,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := ordertest.NewSale(t)
			id := s.Split(1, 4, 2)
			s.Exec(`UPDATE coupons SET stock = 0`)
			s.Exec(`UPDATE coupon_segments SET stock = 4`)
			proxy, dsn := labtest.ProxiedMySQL(t, s.DSN)
			patient := func(c *ordertest.Config) { c.Commit.DB = labtest.Open(t, dsn) } // also on a busy machine
			late, other := s.Instance(patient, form), s.Instance()
			held := proxy.Hold("SET stock = stock + ")
			refused := ordertest.Claim(t.Context(), late, usersOf(0, 2, 1)[0], id)
			check.Eventually(t, "a transfer is about to be made", held.Caught)
			for _, user := range usersOf(1, 2, 4) {
				ordertest.WantClaim(t, other, user, id, nil)
			}
			held.Deliver()
			check.ErrorIs(t, <-refused, coupon.ErrSoldOut)
			sold(s, id, 4)
		})
	}
}
