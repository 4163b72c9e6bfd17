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

// claimForever sends claims of a coupon from many users, each with a deadline,
// until the test ends. It returns when one of them waits for a slot.
func (s *sale) claimForever(claims *order.Claims, couponID int64, users int, timeout time.Duration) {
	s.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	s.t.Cleanup(func() { cancel(); wg.Wait() })
	for user := range users {
		wg.Go(func() {
			for ctx.Err() == nil {
				claimCtx, cancel := context.WithTimeout(ctx, timeout)
				start := time.Now()
				_, err := claims.Claim(claimCtx, int64(user)+1, couponID)
				cancel()
				if took := time.Since(start); took > timeout+2*time.Second {
					s.t.Errorf("a claim of the stuck coupon took %v, with a deadline of %v: %v", took, timeout, err)
				}
			}
		})
	}
	labtest.Eventually(s.t, "a claim waits for a slot", func() bool { return order.WaitingForSlots(claims, couponID) > 0 })
}

// Claims of a coupon whose row is locked take neither all slots nor all
// connections.
func TestStuckCouponDelaysNoOther(t *testing.T) {
	t.Parallel()
	for _, strategy := range strategies {
		t.Run(string(strategy), func(t *testing.T) {
			t.Parallel()
			s := newSale(t)
			claims := s.instance(withStrategy(strategy))
			order.LimitRunning(claims, 200) // the pools have 32 connections
			stuck, other := s.coupon(1, 1000), s.coupon(2, 1000)
			s.block(claims, stuck)
			s.claimForever(claims, stuck, 200, 4*time.Second)
			for user := int64(1001); user <= 1040; user++ {
				ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
				if _, err := claims.Claim(ctx, user, other); err != nil {
					t.Errorf("claim %d of the other coupon: %v", user-1000, err)
				}
				cancel()
			}
		})
	}
}

// The server drops the statements of claims that have given up: otherwise they
// would occupy its connections for as long as the row is locked.
func TestClaimsThatGiveUpLeaveTheServer(t *testing.T) {
	t.Parallel()
	for _, strategy := range []order.Strategy{order.PerClaim, order.GroupCommit} {
		t.Run(string(strategy), func(t *testing.T) {
			t.Parallel()
			s := newSale(t)
			claims := s.instance(withStrategy(strategy))
			id := s.coupon(1, 100)
			b := s.block(claims, id)
			db := labtest.Open(t, s.dsn)
			waiting := func() (n int) {
				const q = `SELECT COUNT(*) FROM information_schema.processlist
					WHERE db = DATABASE() AND info LIKE '%UPDATE coupons%' AND info NOT LIKE '%processlist%'`
				if err := db.GetContext(t.Context(), &n, q); err != nil {
					t.Fatal(err)
				}
				return n
			}
			ctx, cancel := context.WithCancel(t.Context())
			var results []<-chan error
			for user := range int64(40) {
				results = append(results, b.start(ctx, user+1))
			}
			labtest.Eventually(t, "claims wait for the row", func() bool { return waiting() > 0 })
			cancel()
			for _, result := range results {
				expect(t, "cancelled claim", result, order.ErrUnavailable)
			}
			labtest.Eventually(t, "no statement waits for the row", func() bool { return waiting() == 0 })
		})
	}
}

// A verdict that needs no transaction needs no slot.
func TestRefusalNeedsNoSlot(t *testing.T) {
	t.Parallel()
	s := newSale(t)
	claims := s.instance()
	order.LimitRunning(claims, 2)
	stuck := s.coupon(1, 10)
	s.couponFrom(2, time.Hour, 2*time.Hour, 1)
	s.couponFrom(3, -time.Hour, time.Hour, 0)
	if _, err := claims.Claim(t.Context(), 42, stuck); err != nil {
		t.Fatal(err)
	}
	b := s.block(claims, stuck)
	first := b.first(43)
	s.claimForever(claims, stuck, 1, time.Minute)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	for _, c := range []struct {
		coupon int64
		want   error
	}{{stuck, order.ErrAlreadyClaimed}, {2, coupon.ErrNotStarted}, {3, coupon.ErrSoldOut}, {4, coupon.ErrNotFound}} {
		if _, err := claims.Claim(ctx, 42, c.coupon); !errors.Is(err, c.want) {
			t.Errorf("coupon %d: %v, want %v", c.coupon, err, c.want)
		}
	}
	if n := order.WaitingForSlots(claims, stuck); n != 1 {
		t.Errorf("%d claims wait for a slot, want 1", n)
	}
	b.lift()
	expect(t, "the claim with the slot", first, nil)
}

// A countingLocker counts the locks that are requested.
type countingLocker struct {
	lock.Locker
	requests atomic.Int64
}

func (l *countingLocker) TryLock(ctx context.Context, key string, ttl time.Duration) (lock.Lease, error) {
	l.requests.Add(1)
	return l.Locker.TryLock(ctx, key, ttl)
}

// A claim that has waited for a slot is checked again: by then the coupon may be
// known to be sold out.
func TestClaimIsCheckedAgainAfterWaitingForASlot(t *testing.T) {
	t.Parallel()
	s := newSale(t)
	locker := &countingLocker{Locker: lock.Local()}
	claims := s.instance(withLocker(locker), func(c *order.Config) { c.Coupons = coupon.NewCache(s.coupons, time.Hour) })
	order.LimitRunning(claims, 2) // one for the coupon
	id := s.coupon(1, 1)
	b := s.block(claims, id)
	first := b.first(1)
	ctx, cancel := context.WithCancel(t.Context())
	cancelled, second, third := b.start(ctx, 2), b.start(t.Context(), 3), b.start(t.Context(), 4)
	labtest.Eventually(t, "three claims wait for a slot", func() bool { return order.WaitingForSlots(claims, id) == 3 })
	cancel()
	expect(t, "a claim that is cancelled while it waits", cancelled, context.Canceled)
	b.lift()
	expect(t, "the claim with the slot", first, nil)
	expect(t, "the claim whose transaction finds no stock", second, coupon.ErrSoldOut)
	expect(t, "the claim after it", third, coupon.ErrSoldOut)
	if n := locker.requests.Load(); n != 2 {
		t.Errorf("%d claims took the user lock, want 2", n)
	}
}

// The claims that give up while their coupon is stuck leave its queue.
func TestQueueHoldsNoClaimThatHasGivenUp(t *testing.T) {
	t.Parallel()
	s := newSale(t)
	b := s.block(s.instance(), s.coupon(1, 1000))
	first := b.first(1)
	for user := int64(2); user < 50; user++ {
		ctx, cancel := context.WithCancel(t.Context())
		given := b.claim(ctx, user)
		cancel()
		expect(t, "cancelled claim", given, order.ErrUnavailable)
	}
	if n := order.Queued(b.claims); n != 0 {
		t.Errorf("%d cancelled claims are queued", n)
	}
	b.lift()
	expect(t, "first batch", first, nil)
}
