package order_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/flashsale/internal/admission"
	"example.com/flashsale/internal/admission/slots"
	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/coupon"
	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/order"
	"example.com/flashsale/internal/order/commit"
	"example.com/flashsale/internal/order/ordertest"
)

// running bounds the claims of an instance that run at a time.
func running(n int) func(*ordertest.Config) {
	return func(c *ordertest.Config) { c.Order.Running = n }
}

// claimForever sends claims of a coupon from many users, each with a deadline,
// until the test ends. It returns when one of them waits for a slot.
func claimForever(s *ordertest.Sale, claims *ordertest.Instance, couponID int64, users int, timeout time.Duration) {
	s.T.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	s.T.Cleanup(func() { cancel(); wg.Wait() })
	for user := range users {
		wg.Go(func() {
			for ctx.Err() == nil {
				claimCtx, cancel := context.WithTimeout(ctx, timeout)
				start := time.Now()
				_, err := claims.Claim(claimCtx, int64(user)+1, couponID)
				cancel()
				if took := time.Since(start); took > timeout+2*time.Second {
					s.T.Errorf("a claim of the stuck coupon took %v, with a deadline of %v: %v", took, timeout, err)
				}
			}
		})
	}
	check.Eventually(s.T, "a claim waits for a slot", func() bool { return claims.Slots().Waiting > 0 })
}

// Claims of a coupon whose row is locked take neither all slots nor all
// connections.
func TestStuckCouponDelaysNoOther(t *testing.T) {
	ordertest.ForStrategies(t, commit.Strategies, func(t *testing.T, s *ordertest.Sale, strategy commit.Strategy) {
		claims := s.Instance(ordertest.WithStrategy(strategy), running(200)) // the pools have 32 connections
		stuck, other := s.Coupon(1, 1000), s.Coupon(2, 1000)
		s.Block(stuck)
		claimForever(s, claims, stuck, 200, 10*time.Second)
		for user := int64(1001); user <= 1040; user++ {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			if _, err := claims.Claim(ctx, user, other); err != nil {
				t.Errorf("claim %d of the other coupon: %v", user-1000, err)
			}
			cancel()
		}
	})
}

// A verdict that needs no transaction needs no slot.
func TestRefusalNeedsNoSlot(t *testing.T) {
	t.Parallel()
	s := ordertest.NewSale(t)
	claims := s.Instance(running(2))
	stuck := s.Coupon(1, 10)
	s.CouponFrom(2, time.Hour, 2*time.Hour, 1)
	s.CouponFrom(3, -time.Hour, time.Hour, 0)
	ordertest.WantClaim(t, claims, 42, stuck, nil)
	unblock := s.Block(stuck)
	first := ordertest.Claim(t.Context(), claims, 43, stuck)
	check.Eventually(t, "a claim has the slot", func() bool { return claims.Slots().Running == 1 })
	claimForever(s, claims, stuck, 1, time.Minute)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for _, c := range []struct {
		coupon int64
		want   error
	}{{stuck, order.ErrAlreadyClaimed}, {2, coupon.ErrNotStarted}, {3, coupon.ErrSoldOut}, {4, coupon.ErrNotFound}} {
		if _, err := claims.Claim(ctx, 42, c.coupon); !errors.Is(err, c.want) {
			t.Errorf("coupon %d: %v, want %v", c.coupon, err, c.want)
		}
	}
	if n := claims.Slots().Waiting; n != 1 {
		t.Errorf("%d claims wait for a slot, want 1", n)
	}
	unblock()
	ordertest.Expect(t, "the claim with the slot", first, nil)
}

// It has done nothing, so its outcome is known.
func TestClaimThatOnlyWaitedForASlotIsOverloaded(t *testing.T) {
	t.Parallel()
	s := ordertest.NewSale(t)
	claims := s.Instance(running(2)) // one for the coupon
	id := s.Coupon(1, 10)
	unblock := s.Block(id)
	first := ordertest.Claim(t.Context(), claims, 1, id)
	check.Eventually(t, "a claim has the slot", func() bool { return claims.Slots().Running == 1 })
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_, err := claims.Claim(ctx, 2, id)
	if !errors.Is(err, admission.ErrOverloaded) || errors.Is(err, order.ErrUnavailable) {
		t.Errorf("%v, want it to be overloaded", err)
	}
	unblock()
	ordertest.Expect(t, "the claim with the slot", first, nil)
}

// A claim that has waited for a slot is checked again: by then the coupon may be
// known to be sold out.
func TestClaimIsCheckedAgainAfterWaitingForASlot(t *testing.T) {
	t.Parallel()
	s := ordertest.NewSale(t)
	var requests atomic.Int64
	locker := &ordertest.Locker{Locker: lock.Local(), Try: func(string) error { requests.Add(1); return nil }}
	// one for the coupon
	cached := func(c *ordertest.Config) { c.Order.Coupons = coupon.NewCache(s.Coupons, time.Hour) }
	claims := s.Instance(ordertest.WithLocker(locker), cached, running(2))
	id := s.Coupon(1, 1)
	unblock := s.Block(id)
	first := ordertest.Claim(t.Context(), claims, 1, id)
	check.Eventually(t, "a claim has the slot", func() bool { return claims.Slots().Running == 1 })
	ctx, cancel := context.WithCancel(t.Context())
	var waiting []<-chan error
	for user, ctx := range []context.Context{ctx, t.Context(), t.Context()} {
		waiting = append(waiting, ordertest.Claim(ctx, claims, int64(user)+2, id))
		check.Eventually(t, "the claim waits", func() bool { return claims.Slots().Waiting == user+1 })
	}
	cancel()
	ordertest.Expect(t, "a claim that is cancelled while it waits", waiting[0], context.Canceled)
	unblock()
	ordertest.Expect(t, "the claim with the slot", first, nil)
	ordertest.Expect(t, "the claim whose transaction finds no stock", waiting[1], coupon.ErrSoldOut)
	ordertest.Expect(t, "the claim after it", waiting[2], coupon.ErrSoldOut)
	if n := requests.Load(); n != 2 || claims.Slots() != (slots.Usage{}) {
		t.Errorf("%d claims took the user lock, want 2; slots in use: %+v", n, claims.Slots())
	}
}
