package order_test

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"time"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/coupon"
	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/order"
	"example.com/flashsale/internal/order/ordertest"
)

func TestOnlyARefusalWaitsForTheRelease(t *testing.T) {
	t.Parallel()
	s := ordertest.NewSale(t)
	proceed := make(chan struct{})
	locker := &ordertest.Locker{Locker: lock.Local(), Release: func(string) { <-proceed }}
	claims := s.Instance(ordertest.WithLocker(locker), func(c *ordertest.Config) {
		// keeps the stock of 1, so that both claims take the lock
		c.Order.Coupons = coupon.NewCache(s.Coupons, time.Hour)
	})
	id := s.Coupon(1, 1)
	ordertest.WantClaim(t, claims, 42, id, nil)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	if _, err := claims.Claim(ctx, 43, id); !errors.Is(err, coupon.ErrSoldOut) {
		t.Errorf("second claim: %v, want ErrSoldOut", err)
	}
	if ctx.Err() == nil {
		t.Error("the refusal returned before its lock was released and before its deadline")
	}
	closed := make(chan struct{})
	go func() { _ = claims.Close(t.Context()); close(closed) }()
	select {
	case <-closed:
		t.Error("Close returned before all locks were released")
	case <-time.After(100 * time.Millisecond):
	}
	close(proceed)
	<-closed
	for user := range int64(2) {
		if _, err := locker.Locker.TryLock(t.Context(), "redis_lock:userId:"+strconv.FormatInt(42+user, 10),
			time.Minute); err != nil {
			t.Errorf("lock of user %d after Close: %v", 42+user, err)
		}
	}
}

func TestReleaseThatHangsDelaysNoOther(t *testing.T) {
	t.Parallel()
	s := ordertest.NewSale(t)
	proceed := make(chan struct{})
	locker := &ordertest.Locker{Locker: lock.Local(), Release: func(key string) {
		if key == "redis_lock:userId:42" {
			<-proceed
		}
	}}
	claims := s.Instance(ordertest.WithLocker(locker), lockedForAnHour)
	id := s.Coupon(3, 3)
	for user := range int64(3) {
		ordertest.WantClaim(t, claims, 42+user, id, nil)
	}
	for _, key := range []string{"redis_lock:userId:43", "redis_lock:userId:44"} {
		check.Eventually(t, "the lock "+key+" is released", func() bool {
			_, err := locker.Locker.TryLock(t.Context(), key, time.Minute)
			return err == nil
		})
	}
	close(proceed)
}

func TestSectionLiesWithinTheLock(t *testing.T) {
	t.Parallel()
	s := ordertest.NewSale(t)
	locker := lock.Local()
	var sections []order.Section
	check := func(key string) {
		if _, err := locker.TryLock(t.Context(), key, time.Minute); !errors.Is(err, lock.ErrLocked) {
			t.Errorf("the key %s is free: %v", key, err)
		}
	}
	claims := s.Instance(ordertest.WithLocker(locker), func(c *ordertest.Config) {
		c.Order.Enter = func(_ context.Context, e order.Section) func() {
			check(e.Key)
			return func() {
				check(e.Key)
				sections = append(sections, e)
			}
		}
	})
	ordertest.WantClaim(t, claims, 42, s.Coupon(1, 1), nil)
	if len(sections) != 1 || sections[0].UserID != 42 || sections[0].Key != "redis_lock:userId:42" ||
		sections[0].Granted.Before(sections[0].Wanted) {
		t.Errorf("sections %+v", sections)
	}
}
