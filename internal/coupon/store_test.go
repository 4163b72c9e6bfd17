package coupon_test

import (
	"testing"

	"github.com/jmoiron/sqlx"

	"example.com/flashsale/internal/coupon"
	"example.com/flashsale/internal/lab/labtest"
)

// admin is the administrator who changes coupons.
const admin = 7

// newStore returns a store whose coupon 1 has that stock, and its database.
func newStore(t *testing.T, stock int) (*coupon.Store, *sqlx.DB) {
	t.Helper()
	db := labtest.DB(t)
	s := coupon.NewStore(db)
	mustCreate(t, s, 1, stock)
	return s, db
}

func mustCreate(t *testing.T, s *coupon.Store, id int64, stock int) coupon.Coupon {
	t.Helper()
	c := mustNew(t, id, stock)
	if _, err := s.Create(t.Context(), c, admin); err != nil {
		t.Fatal(err)
	}
	return c
}
