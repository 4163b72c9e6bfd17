package order_test

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/coupon"
	"example.com/flashsale/internal/order"
	"example.com/flashsale/internal/order/commit"
	"example.com/flashsale/internal/order/ordertest"
)

// An observed is what Refused and Ended were told.
type observed struct {
	mu        sync.Mutex
	prechecks []order.Precheck
	ended     []commit.Transaction
}

func (o *observed) config(c *ordertest.Config) {
	c.Order.Refused = func(p order.Precheck) {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.prechecks = append(o.prechecks, p)
	}
	c.Commit.Ended = func(t commit.Transaction) {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.ended = append(o.ended, t)
	}
}

// last returns the precheck that refused the last claim.
func (o *observed) last() order.Precheck {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.prechecks[len(o.prechecks)-1]
}

func TestTransactionsAndPrechecksAreObserved(t *testing.T) {
	ordertest.ForStrategies(t, commit.Strategies, func(t *testing.T, s *ordertest.Sale, strategy commit.Strategy) {
		seen := new(observed)
		c := s.Instance(ordertest.WithStrategy(strategy), seen.config, func(c *ordertest.Config) {
			// the first transaction after the last unit finds the stock gone
			c.Order.Coupons = coupon.NewCache(s.Coupons, time.Hour)
		})
		s.Coupon(1, 1)
		s.CouponFrom(2, time.Hour, 2*time.Hour, 1)
		for _, claim := range []struct {
			user, coupon int64
			want         error
		}{
			{42, 1, nil}, {42, 1, order.ErrAlreadyClaimed}, {42, 2, coupon.ErrNotStarted},
			{43, 1, coupon.ErrSoldOut}, {44, 1, coupon.ErrSoldOut},
		} {
			ordertest.WantClaim(t, c, claim.user, claim.coupon, claim.want)
		}
		_, err := c.Claims.Claim(t.Context(), order.Claimant{UserID: 42, Number: 2}, 1)
		check.ErrorIs(t, err, order.ErrLimitReached)
		if last := seen.last(); last != order.PrecheckLimit {
			t.Errorf("a second order is refused by %v", last)
		}
		seen.prechecks = slices.Delete(seen.prechecks, len(seen.prechecks)-1, len(seen.prechecks))
		check.Eventually(t, "the filter refuses a claim", func() bool {
			ordertest.MustBeSoldOut(t, c, 1)
			return seen.last() == order.PrecheckFilter
		})
		seen.check(t)
	})
}

// check expects the claims above: one order, one transaction that found the stock
// gone, and prechecks that refused the others. Lookups do so until the filter is
// loaded.
func (o *observed) check(t *testing.T) {
	t.Helper()
	o.mu.Lock()
	defer o.mu.Unlock()
	for i := range o.ended {
		if o.ended[i].Took <= 0 {
			t.Errorf("took %s", o.ended[i].Took)
		}
		o.ended[i].Took = 0
	}
	if diff := cmp.Diff([]commit.Transaction{{Claims: 1, Orders: 1}, {Claims: 1}}, o.ended); diff != "" {
		t.Error(diff)
	}
	lookups := slices.Clone(o.prechecks[2:])
	lookups = slices.DeleteFunc(lookups, func(p order.Precheck) bool { return p == order.PrecheckFilter })
	if o.prechecks[0] != order.PrecheckOrder || o.prechecks[1] != order.PrecheckWindow ||
		slices.ContainsFunc(lookups, func(p order.Precheck) bool { return p != order.PrecheckLookup }) {
		t.Errorf("refused by %v", o.prechecks)
	}
}

func TestFailedTransactionIsObserved(t *testing.T) {
	ordertest.ForStrategies(t, commit.Strategies, func(t *testing.T, s *ordertest.Sale, strategy commit.Strategy) {
		seen := new(observed)
		c := s.Instance(ordertest.WithStrategy(strategy), seen.config)
		s.Coupon(1, 1)
		s.Exec(`RENAME TABLE coupon_orders TO elsewhere`)
		ordertest.WantClaim(t, c, 42, 1, order.ErrUnavailable)
		check.Eventually(t, "the transaction is observed", func() bool { // after the claim has its result
			seen.mu.Lock()
			defer seen.mu.Unlock()
			return slices.ContainsFunc(seen.ended,
				func(t commit.Transaction) bool { return t.Claims == 1 && t.Orders == 0 && t.Err != nil })
		})
	})
}
