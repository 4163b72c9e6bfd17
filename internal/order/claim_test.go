package order_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/coupon"
	"example.com/flashsale/internal/idgen"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/lock/redislock"
	"example.com/flashsale/internal/order"
	"example.com/flashsale/internal/order/commit"
	"example.com/flashsale/internal/order/ordertest"
)

const userLock = "redis_lock:userId:42"

// lockedForAnHour lets no lock end by itself while a test waits for its release.
func lockedForAnHour(c *ordertest.Config) { c.Order.LockTTL = time.Hour }

func TestVerdictsFollowTheArticlesSequence(t *testing.T) {
	t.Parallel()
	s := ordertest.NewSale(t)
	claims := s.Instance(lockedForAnHour)
	rdb := labtest.Dial(t, s.Redis)
	s.CouponFrom(1, -time.Hour, time.Hour, 5)
	s.CouponFrom(2, time.Hour, 2*time.Hour, 0)
	s.CouponFrom(3, -2*time.Hour, -time.Hour, 0)
	s.CouponFrom(4, -time.Hour, time.Hour, 0)
	placed, err := claims.Claim(t.Context(), 42, 1)
	check.NoError(t, err)
	check.Eventually(t, "the lock of the order is released",
		func() bool { return rdb.Exists(t.Context(), userLock).Val() == 0 })
	for _, test := range []struct {
		name   string
		coupon int64
		want   error
	}{
		{"unknown coupon", 9, coupon.ErrNotFound},
		{"not started, no stock", 2, coupon.ErrNotStarted},
		{"ended, no stock", 3, coupon.ErrEnded},
		{"no stock", 4, coupon.ErrSoldOut},
		{"second claim", 1, order.ErrAlreadyClaimed},
	} {
		if _, err := claims.Claim(t.Context(), 42, test.coupon); !errors.Is(err, test.want) ||
			errors.Is(err, order.ErrUnavailable) {
			t.Errorf("%s: %v, want %v", test.name, err, test.want)
		}
		if n := rdb.Exists(t.Context(), userLock).Val(); n != 0 {
			t.Errorf("%s: the lock is not released", test.name)
		}
	}
	_, err = claims.Claim(t.Context(), 42, 1)
	ordertest.WantOrder(t, err, placed.ID)
}

// Once no living holder can be behind a lock, because one would have extended it, the refusal
// says how long the lock lasts.
func TestConcurrentClaimOfAUserIsInProgress(t *testing.T) {
	t.Parallel()
	s := ordertest.NewSale(t)
	claims, id := s.Instance(lockedForAnHour), s.Coupon(1, 5)
	for left, told := range map[time.Duration]bool{59 * time.Minute: false, 30 * time.Minute: true} {
		lease, err := redislock.New(labtest.Dial(t, s.Redis)).TryLock(t.Context(), userLock, left)
		check.NoError(t, err)
		_, err = claims.Claim(t.Context(), 42, id)
		claim, isTold := errors.AsType[*order.ClaimInProgressError](err)
		if !errors.Is(err, order.ErrClaimInProgress) || isTold != told ||
			told && claim.Left.Round(time.Minute) != left {
			t.Errorf("%s left: %#v", left, err)
		}
		check.NoError(t, lease.Release(t.Context())) // the refused claim has released no lock that it did not hold
	}
	ordertest.WantClaim(t, claims, 42, id, nil)
}

// Another attempt would end like it.
func TestWrongUseOfTheLockIsNotUnavailable(t *testing.T) {
	t.Parallel()
	s := ordertest.NewSale(t)
	_, err := s.Instance(func(c *ordertest.Config) { c.Order.LockTTL = -1 }).Claim(t.Context(), 42, s.Coupon(1, 5))
	if !errors.Is(err, lock.ErrInvalid) || errors.Is(err, order.ErrUnavailable) {
		t.Errorf("%v, want ErrInvalid", err)
	}
}

// Nothing else ends it: the row of its coupon is locked, and its client has no deadline.
func TestClaimEndsWhenItsLockIsLost(t *testing.T) {
	t.Parallel()
	s := ordertest.NewSale(t)
	losing := &ordertest.Locker{Locker: lock.Local(), Extend: func() error { return lock.ErrLost }}
	claims := s.Instance(ordertest.WithStrategy(commit.PerClaim), ordertest.WithLocker(losing),
		func(c *ordertest.Config) { c.Order.LockTTL = time.Second })
	id := s.Coupon(1, 5)
	s.Block(id)
	result := ordertest.Claim(t.Context(), claims, 42, id)
	ordertest.Expect(t, "a claim that has lost its lock", result, order.ErrUnavailable)
}

func TestCancelledClaimLeavesNoLock(t *testing.T) {
	t.Parallel()
	s := ordertest.NewSale(t)
	claims, id := s.Instance(lockedForAnHour), s.Coupon(1, 1000)
	rdb := labtest.Dial(t, s.Redis)
	for i := range 50 { // each attempt is cancelled at a later moment of the claim
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*50*time.Microsecond)
		_, _ = claims.Claim(ctx, 42, id)
		cancel()
		check.Eventually(t, "the lock is released",
			func() bool { return rdb.Exists(t.Context(), userLock).Val() == 0 })
	}
	if a := s.Audit(id); a.Orders > 1 || a.Undersold() != 0 {
		t.Errorf("audit %+v", a)
	}
}

// An id that another order has costs a second attempt, not the claim, and is not
// mistaken for the user's own order.
func TestTakenIDIsReplaced(t *testing.T) {
	ordertest.ForStrategies(t, commit.Strategies, func(t *testing.T, s *ordertest.Sale, strategy commit.Strategy) {
		first, second := s.Coupon(1, 5), s.Coupon(2, 5)
		o, err := s.Instance(ordertest.WithStrategy(strategy)).Claim(t.Context(), 1, first)
		check.NoError(t, err)
		const take = `INSERT INTO coupon_orders (id, coupon_id, user_id, created_at) VALUES (?, 3, ?, NOW())`
		for second := range int64(60) {
			s.Exec(take, o.ID+second<<32+1, second)
		}
		placed, err := s.Instance(ordertest.WithStrategy(strategy)).Claim(t.Context(), 2, second)
		if err != nil {
			t.Fatalf("claim: %v", err)
		}
		parts, err := idgen.Parse(placed.ID)
		if taken, _ := idgen.Parse(o.ID + 1); err != nil || parts.Sequence == taken.Sequence {
			t.Errorf("got id %d (%+v, %v)", placed.ID, parts, err)
		}
	})
}
