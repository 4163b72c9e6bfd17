package order_test

import (
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/flashsale/internal/coupon"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/order"
)

// An observed is what an Observer was told.
type observed struct {
	mu    sync.Mutex
	gates []order.Gate
	ended []order.Transaction
}

func (o *observed) config(c *order.Config) {
	c.Observer = order.Observer{
		Refused: func(g order.Gate) {
			o.mu.Lock()
			defer o.mu.Unlock()
			o.gates = append(o.gates, g)
		},
		Ended: func(t order.Transaction) {
			o.mu.Lock()
			defer o.mu.Unlock()
			o.ended = append(o.ended, t)
		},
	}
}

func TestObserverIsToldOfTransactionsAndGates(t *testing.T) {
	t.Parallel()
	for _, strategy := range strategies {
		t.Run(string(strategy), func(t *testing.T) {
			t.Parallel()
			s, seen := newSale(t), new(observed)
			c := s.instance(withStrategy(strategy), seen.config, func(c *order.Config) {
				c.Coupons = coupon.NewCache(s.coupons, time.Hour) // the first transaction after the last unit finds the stock gone
			})
			s.coupon(1, 1)
			s.couponFrom(2, time.Hour, 2*time.Hour, 1)
			for _, claim := range []struct {
				user, coupon int64
				want         error
			}{
				{42, 1, nil}, {42, 1, order.ErrAlreadyClaimed}, {42, 2, coupon.ErrNotStarted},
				{43, 1, coupon.ErrSoldOut}, {44, 1, coupon.ErrSoldOut},
			} {
				if _, err := c.Claim(t.Context(), claim.user, claim.coupon); !errors.Is(err, claim.want) {
					t.Fatalf("%+v: %v", claim, err)
				}
			}
			labtest.Eventually(t, "a filter", func() bool { return order.FilterLoaded(c, 1, 1) })
			if _, err := c.Claim(t.Context(), 45, 1); !errors.Is(err, coupon.ErrSoldOut) {
				t.Fatal(err)
			}
			seen.check(t)
		})
	}
}

// check expects the claims above: one order, one transaction that found the
// stock gone, and gates that refused the others. The filter may be loaded before
// or after the lookup.
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
	if diff := cmp.Diff([]order.Transaction{{Claims: 1, Orders: 1}, {Claims: 1}}, o.ended); diff != "" {
		t.Error(diff)
	}
	if n := len(o.gates); n != 4 || o.gates[0] != order.GateOrder || o.gates[1] != order.GateWindow || o.gates[n-1] != order.GateFilter {
		t.Errorf("refused by %v", o.gates)
	}
}

func TestObserverIsToldOfAFailedTransaction(t *testing.T) {
	t.Parallel()
	for _, strategy := range strategies {
		t.Run(string(strategy), func(t *testing.T) {
			t.Parallel()
			s, seen := newSale(t), new(observed)
			c := s.instance(withStrategy(strategy), seen.config)
			s.coupon(1, 1)
			labtest.Open(t, s.dsn).MustExec(`RENAME TABLE coupon_orders TO elsewhere`)
			if _, err := c.Claim(t.Context(), 42, 1); !errors.Is(err, order.ErrUnavailable) {
				t.Fatal(err)
			}
			seen.mu.Lock()
			defer seen.mu.Unlock()
			if !slices.ContainsFunc(seen.ended, func(t order.Transaction) bool { return t.Claims == 1 && t.Orders == 0 && t.Err != nil }) {
				t.Errorf("ended: %+v", seen.ended)
			}
		})
	}
}

func TestSlotsCountRunningClaims(t *testing.T) {
	t.Parallel()
	s := newSale(t)
	c := s.instance()
	order.LimitRunning(c, 2)
	s.coupon(1, 3)
	tx := labtest.Open(t, s.dsn).MustBegin()
	tx.MustExec(`SELECT stock FROM coupons WHERE id = 1 FOR UPDATE`)
	var claims sync.WaitGroup
	for user := range 3 {
		claims.Go(func() { _, _ = c.Claim(t.Context(), int64(user)+1, 1) })
	}
	labtest.Eventually(t, "one claim runs, two wait", func() bool {
		return c.Slots() == order.SlotUsage{Running: 1, Waiting: 2}
	})
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	claims.Wait()
	if usage := c.Slots(); usage != (order.SlotUsage{}) {
		t.Errorf("%+v after the last claim", usage)
	}
}
