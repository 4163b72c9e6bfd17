package order_test

import (
	"errors"
	"testing"
	"time"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/coupon"
	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/order"
	"example.com/flashsale/internal/order/commit"
	"example.com/flashsale/internal/order/ordertest"
)

// A batch that found no stock may mark the coupon sold out after a restock. The
// mark hides neither the units left nor the orders placed since.
func TestLateSoldOutMarkHidesNoUnitAndNoWinner(t *testing.T) {
	t.Parallel()
	s := ordertest.NewSale(t)
	cache := coupon.NewCache(s.Coupons, time.Hour)
	seen := new(observed)
	a, b := s.Instance(), s.Instance(seen.config, func(c *ordertest.Config) { c.Order.Coupons = cache })
	id := s.Coupon(1, 3)
	ordertest.WantClaim(t, a, 1, id, nil)
	found, err := cache.Find(t.Context(), id)
	check.NoError(t, err)
	cache.MarkSoldOut(found)
	ordertest.WantClaim(t, b, 2, id, nil)
	if len(seen.prechecks) != 0 {
		t.Errorf("the claim that has an order is counted as refused by %v", seen.prechecks)
	}
	ordertest.WantClaim(t, a, 3, id, nil)
	ordertest.MustBeSoldOut(t, b, id)
	for user := range int64(3) {
		ordertest.WantClaim(t, b, user+1, id, order.ErrAlreadyClaimed)
	}
}

func TestRestockIsSold(t *testing.T) {
	t.Parallel()
	s := ordertest.NewSale(t)
	a, b := s.Instance(), s.Instance()
	id := s.Coupon(1, 1)
	ordertest.WantClaim(t, a, 1, id, nil)
	ordertest.MustBeSoldOut(t, a, id)
	ordertest.MustBeSoldOut(t, b, id)
	s.Restock(id, 1)
	// the sold-out mark expires with the cache entry, after 50 ms
	check.Eventually(t, "the restock is sold", func() bool {
		_, err := b.Claim(t.Context(), 2, id)
		if err != nil && !errors.Is(err, coupon.ErrSoldOut) {
			t.Fatalf("after the restock: %v", err)
		}
		return err == nil
	})
	ordertest.MustBeSoldOut(t, a, id)
	// also after its cache entry has expired
	check.Eventually(t, "the other instance knows the restock's winner", func() bool {
		_, err := a.Claim(t.Context(), 2, id)
		if !errors.Is(err, coupon.ErrSoldOut) && !errors.Is(err, order.ErrAlreadyClaimed) {
			t.Fatalf("the restock's winner, at the other instance: %v", err)
		}
		return errors.Is(err, order.ErrAlreadyClaimed)
	})
}

// Two claims of a user that no lock keeps apart both look for an order, and find
// none, before one of them takes the last unit.
func TestWinnerIsNotToldSoldOut(t *testing.T) {
	ordertest.ForStrategies(t, commit.Strategies, func(t *testing.T, s *ordertest.Sale, strategy commit.Strategy) {
		unlocked := ordertest.WithLocker(lock.None())
		for _, segments := range []int{1, 2} {
			id, user := s.Split(int64(segments), segments, segments), usersOf(0, segments, 1)[0]
			s.Exec(`UPDATE coupon_segments SET stock = 0`)
			unblock := s.Block(id)
			a := ordertest.Claim(t.Context(), s.Instance(unlocked, ordertest.WithStrategy(strategy)), user, id)
			b := ordertest.Claim(t.Context(), s.Instance(unlocked, ordertest.WithStrategy(strategy)), user, id)
			check.Eventually(t, "both claims wait", func() bool { return s.Executing("%coupon%") == 2 })
			unblock()
			placed, other := <-a, <-b
			if placed != nil {
				placed, other = other, placed
			}
			if placed != nil || !errors.Is(other, order.ErrAlreadyClaimed) {
				t.Errorf("%d segments: %v and %v, want an order and ErrAlreadyClaimed", segments, placed, other)
			}
		}
	})
}
