package coupon_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/coupon"
	"example.com/flashsale/internal/faultproxy"
	"example.com/flashsale/internal/lab/labtest"
)

func TestConcurrentFindsOfManyCouponsShareQueries(t *testing.T) {
	t.Parallel()
	const coupons = 500
	db := labtest.DB(t)
	createCoupons(t, db, coupons)
	cache := coupon.NewCache(coupon.NewStore(db), time.Hour)
	before := labtest.SessionStatus(t, db, "Com_select")
	check.AtOnce(int64(coupons+10), func(id int64) {
		c, err := cache.Find(t.Context(), id)
		switch exists := id >= 1 && id <= coupons; {
		case exists && (err != nil || c.ID != id || c.Stock != int(id)):
			t.Errorf("coupon %d: %+v, %v", id, c, err)
		case !exists && !errors.Is(err, coupon.ErrNotFound):
			t.Errorf("coupon %d, which does not exist: %+v, %v", id, c, err)
		}
	})
	if n := labtest.SessionStatus(t, db, "Com_select") - before; n > coupons/10 {
		t.Errorf("%d SELECTs for %d coupons", n, coupons)
	}
}

func TestReadThatHangsHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	proxy, db, direct := proxied(t)
	createCoupons(t, direct, 2)
	cache := coupon.NewCache(coupon.NewStore(db), 0)

	proxy.Inject(faultproxy.HangReply, "FROM coupons", 1)
	hanging := check.Begin(func() error { _, err := cache.Find(t.Context(), 1); return err })
	check.Eventually(t, "the read of coupon 1 hangs", func() bool { return proxy.Hits() == 1 })
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if c, err := cache.Find(ctx, 2); err != nil || c.ID != 2 {
		t.Errorf("behind a read that hangs: %+v, %v", c, err)
	}
	cache.Put(coupon.Coupon{ID: 1})
	if c, err := cache.Find(t.Context(), 1); err != nil || c.ID != 1 {
		t.Errorf("after a change, behind a read from before it: %+v, %v", c, err)
	}
	if err := <-hanging; err == nil {
		t.Error("the read that hung succeeded")
	}
}
