package order_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/order"
	"example.com/flashsale/internal/order/ordertest"
)

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
