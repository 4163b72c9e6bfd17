package winners_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/flashsale/internal/coupon"
	"example.com/flashsale/internal/order"
	"example.com/flashsale/internal/order/ordertest"
)

// TestSoldOutAtScale measures how many claims of sold-out coupons are refused,
// for few and many coupons and orders, and checks the target: every case has at
// least 0.7 of the rate of the first. It takes minutes, and runs only with
// SCALE=10s, which is the length of a measurement. Run it as the service
// runs:
//
//	GOGC=400 GOMEMLIMIT=170MiB SCALE=10s go test -count=1 -v -timeout 30m -run AtScale ./internal/order/winners
func TestSoldOutAtScale(t *testing.T) {
	length := ordertest.Measurement(t)
	s := ordertest.NewScaleSale(t)
	var baseline float64
	for i, c := range []struct{ coupons, orders int }{{1, 500_000}, {120, 10_000}, {6, 400_000}, {16, 500_000}} {
		first := int64(i * 1000)
		sellOut(s, first, c.coupons, c.orders)
		claims := s.Instance(func(c *ordertest.Config) {
			c.Order.Coupons = coupon.NewCache(s.Coupons,
				200*time.Millisecond)
		})
		cold := refuse(s, claims, first, c.coupons, c.orders, length)
		warm := refuse(s, claims, first, c.coupons, c.orders, length)
		if baseline == 0 {
			baseline = warm.perSecond
		}
		t.Logf("%3d coupons of %6d orders: first %v: %v; next %v: %v (%.2f of the first case); RSS %d MB",
			c.coupons, c.orders, length, cold, length, warm, warm.perSecond/baseline, residentMB(t))
		mustTellWinners(s, claims, first, c.coupons, c.orders)
		if warm.perSecond < 0.7*baseline {
			t.Errorf("%d coupons of %d orders: %.0f refusals/s, want at least 0.7 of %.0f", c.coupons, c.orders,
				warm.perSecond, baseline)
		}
		if err := claims.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// A rate is the number of refusals in a second, and their median duration.
type rate struct {
	perSecond float64
	median    time.Duration
}

func (r rate) String() string { return fmt.Sprintf("%.0f/s, median %v", r.perSecond, r.median) }

// refuse sends claims of users without an order, from 64 goroutines.
func refuse(
	s *ordertest.Sale, claims *ordertest.Instance, first int64, coupons, orders int, length time.Duration,
) rate {
	s.T.Helper()
	var refused atomic.Int64
	var mu sync.Mutex
	var samples []time.Duration
	var wg sync.WaitGroup
	ctx, cancel := context.WithTimeout(context.Background(), length)
	defer cancel()
	for range 64 {
		wg.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				couponID := first + 1 + rand.Int64N(int64(coupons))
				userID := int64(orders) + 1 + rand.Int64N(2_000_000_000)
				claimCtx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
				start := time.Now()
				_, err := claims.Claim(claimCtx, userID, couponID)
				cancel()
				if errors.Is(err, coupon.ErrSoldOut) {
					refused.Add(1)
				} else if !errors.Is(err, order.ErrUnavailable) {
					s.T.Errorf("claim: %v", err)
				}
				if n%64 == 0 {
					took := time.Since(start)
					mu.Lock()
					samples = append(samples, took)
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	slices.Sort(samples)
	return rate{float64(refused.Load()) / length.Seconds(), samples[len(samples)/2]}
}

// mustTellWinners checks that winners are told the ids of their orders.
func mustTellWinners(s *ordertest.Sale, claims *ordertest.Instance, first int64, coupons, orders int) {
	s.T.Helper()
	for range 1000 {
		couponID := first + 1 + rand.Int64N(int64(coupons))
		userID := 1 + rand.Int64N(int64(orders))
		_, err := claims.Claim(s.T.Context(), userID, couponID)
		if claimed, ok := errors.AsType[*order.AlreadyClaimedError](err); !ok ||
			claimed.OrderID != orderID(couponID, userID) {
			s.T.Fatalf("claim of winner %d of coupon %d: %v", userID, couponID, err)
		}
	}
}

// residentMB returns the resident memory of this process.
func residentMB(t *testing.T) (mb int) {
	t.Helper()
	if runtime.GOOS != "linux" {
		return 0
	}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if n, _ := fmt.Sscanf(line, "VmRSS: %d kB", &mb); n == 1 {
			return mb / 1024
		}
	}
	return 0
}
