package order_test

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
	"example.com/flashsale/internal/lab"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/order"
)

// TestSoldOutAtScale measures how many claims of sold-out coupons are refused,
// for few and many coupons and orders, and checks the target: every case has at
// least 0.7 of the rate of the first. It takes minutes, and runs only with
// SCALE=10s, which is the length of a measurement. Run it as the service
// runs:
//
//	GOGC=400 GOMEMLIMIT=170MiB SCALE=10s go test -count=1 -v -timeout 30m -run AtScale ./internal/order
func TestSoldOutAtScale(t *testing.T) {
	length := measurement(t)
	s := newScaleSale(t)
	var baseline float64
	for i, c := range []struct{ coupons, orders int }{{1, 500_000}, {120, 10_000}, {6, 400_000}, {16, 500_000}} {
		first := int64(i * 1000)
		s.sellOut(first, c.coupons, c.orders)
		claims := s.instance(func(c *order.Config) { c.Coupons = coupon.NewCache(s.coupons, 200*time.Millisecond) })
		cold := s.refuse(claims, first, c.coupons, c.orders, length)
		warm := s.refuse(claims, first, c.coupons, c.orders, length)
		if baseline == 0 {
			baseline = warm.perSecond
		}
		t.Logf("%3d coupons of %6d orders: first %v: %v; next %v: %v (%.2f of the first case); RSS %d MB",
			c.coupons, c.orders, length, cold, length, warm, warm.perSecond/baseline, residentMB(t))
		s.mustTellWinners(claims, first, c.coupons, c.orders)
		if warm.perSecond < 0.7*baseline {
			t.Errorf("%d coupons of %d orders: %.0f refusals/s, want at least 0.7 of %.0f", c.coupons, c.orders, warm.perSecond, baseline)
		}
		if err := claims.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// measurement returns the length of a measurement. It skips the test if SCALE is
// not set.
func measurement(t *testing.T) time.Duration {
	t.Helper()
	length, err := time.ParseDuration(os.Getenv("SCALE"))
	if err != nil {
		t.Skip("SCALE is not set")
	}
	return length
}

// TestStuckCouponAtScale measures the claims of a coupon alone, and beside 2,500
// clients of a coupon whose row is locked, and checks the target of 0.8.
func TestStuckCouponAtScale(t *testing.T) {
	length := measurement(t)
	for _, strategy := range strategies {
		t.Run(string(strategy), func(t *testing.T) {
			s := newScaleSale(t)
			claims := s.instance(withStrategy(strategy))
			stuck, other := s.coupon(1, 1_000_000), s.coupon(2, 100_000_000)
			s.place(claims, other, length/5) // warms up
			alone := s.place(claims, other, length)
			s.block(claims, stuck)
			s.claimForever(claims, stuck, 2500, 2*time.Second)
			beside := s.place(claims, other, length)
			t.Logf("alone %.0f/s, beside a stuck coupon %.0f/s: %.2f", alone, beside, beside/alone)
			if beside < 0.8*alone {
				t.Errorf("%.2f of the rate, want at least 0.8", beside/alone)
			}
		})
	}
}

// place sends claims of new users from 64 goroutines, and returns the orders per
// second.
func (s *sale) place(claims *order.Claims, couponID int64, length time.Duration) float64 {
	s.t.Helper()
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

// newScaleSale returns a sale on a server with a buffer pool for all orders.
func newScaleSale(t *testing.T) *sale {
	t.Helper()
	server, err := lab.StartMySQL(labtest.Lab(t), "--innodb-buffer-pool-size=2G", "--innodb-flush-log-at-trx-commit=0", "--sync-binlog=0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Kill)
	dsn := labtest.EmptyDatabase(t, server)
	db := labtest.Open(t, dsn)
	labtest.Migrate(t, db)
	return &sale{t, dsn, labtest.Redis(t), coupon.NewStore(db), order.NewStore(db)}
}

// A rate is the number of refusals in a second, and their median duration.
type rate struct {
	perSecond float64
	median    time.Duration
}

func (r rate) String() string { return fmt.Sprintf("%.0f/s, median %v", r.perSecond, r.median) }

// refuse sends claims of users without an order, from 64 goroutines.
func (s *sale) refuse(claims *order.Claims, first int64, coupons, orders int, length time.Duration) rate {
	s.t.Helper()
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
					s.t.Errorf("claim: %v", err)
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
func (s *sale) mustTellWinners(claims *order.Claims, first int64, coupons, orders int) {
	s.t.Helper()
	for range 1000 {
		couponID := first + 1 + rand.Int64N(int64(coupons))
		userID := 1 + rand.Int64N(int64(orders))
		_, err := claims.Claim(s.t.Context(), userID, couponID)
		if claimed, ok := errors.AsType[*order.AlreadyClaimedError](err); !ok || claimed.OrderID != orderID(couponID, userID) {
			s.t.Fatalf("claim of winner %d of coupon %d: %v", userID, couponID, err)
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
