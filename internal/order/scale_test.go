package order_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/flashsale/internal/order/commit"
	"example.com/flashsale/internal/order/ordertest"
)

// TestStuckCouponAtScale measures the claims of a coupon alone, and beside 2,500
// clients of a coupon whose row is locked, and checks the target of 0.8.
func TestStuckCouponAtScale(t *testing.T) {
	length := ordertest.Measurement(t)
	for _, strategy := range commit.Strategies {
		t.Run(string(strategy), func(t *testing.T) {
			s := ordertest.NewScaleSale(t)
			claims := s.Instance(ordertest.WithStrategy(strategy))
			stuck, other := s.Coupon(1, 1_000_000), s.Coupon(2, 100_000_000)
			place(s, claims, other, length/5) // warms up
			alone := place(s, claims, other, length)
			s.Block(stuck)
			claimForever(s, claims, stuck, 2500, 2*time.Second)
			beside := place(s, claims, other, length)
			t.Logf("alone %.0f/s, beside a stuck coupon %.0f/s: %.2f", alone, beside, beside/alone)
			if beside < 0.8*alone {
				t.Errorf("%.2f of the rate, want at least 0.8", beside/alone)
			}
		})
	}
}

// place sends claims of new users from 64 goroutines, and returns the orders per
// second.
func place(s *ordertest.Sale, claims *ordertest.Instance, couponID int64, length time.Duration) float64 {
	s.T.Helper()
	var placed atomic.Int64
	var wg sync.WaitGroup
	ctx, cancel := context.WithTimeout(context.Background(), length)
	defer cancel()
	for range 64 {
		wg.Go(func() {
			for ctx.Err() == nil {
				claimCtx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
				if _, err := claims.Claim(claimCtx, 1_000_000+rand.Int64N(1<<60), couponID); err == nil {
					placed.Add(1)
				}
				cancel()
			}
		})
	}
	wg.Wait()
	return float64(placed.Load()) / length.Seconds()
}
