package order_test

import (
	"testing"
	"time"

	"example.com/flashsale/internal/coupon"
	"example.com/flashsale/internal/order/ordertest"
)

// A window may have been changed after orders were made in it.
func TestAuditCountsOrdersOutsideEveryWindow(t *testing.T) {
	t.Parallel()
	s := ordertest.NewSale(t)
	s.CouponFrom(1, -5*time.Hour, -4*time.Hour, 9)
	for _, window := range [][2]time.Duration{{-8 * time.Hour, -7 * time.Hour}, {-2 * time.Hour, -time.Hour}} {
		begin, end := time.Now().Add(window[0]), time.Now().Add(window[1])
		if _, err := s.Coupons.Update(t.Context(), 1, coupon.Update{BeginTime: &begin, EndTime: &end}, 1); err != nil {
			t.Fatal(err)
		}
	}
	for i, hours := range []float64{-9, -7.5, -6, -4.5, -3, -1.5, -0.5} { // every second one is in a window
		s.Exec(`INSERT INTO coupon_orders (id, coupon_id, user_id, created_at) VALUES (?, 1, ?, ?)`, i+1, i+1,
			time.Now().Add(time.Duration(hours*float64(time.Hour))).UTC())
	}
	if a := s.Audit(1); a.OutsideWindow != 4 || a.Orders != 7 || a.DistinctUsers != 7 {
		t.Errorf("%+v", a)
	}
}
