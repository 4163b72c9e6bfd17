package coupon_test

import (
	"testing"

	"example.com/flashsale/internal/coupon"
)

// admin is the administrator who changes coupons.
const admin = 7

func mustCreate(t *testing.T, s *coupon.Store, id int64, stock int) coupon.Coupon {
	t.Helper()
	c := mustNew(t, id, stock)
	if _, err := s.Create(t.Context(), c, admin); err != nil {
		t.Fatal(err)
	}
	return c
}
