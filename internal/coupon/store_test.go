package coupon_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/coupon"
	"example.com/flashsale/internal/lab/labtest"
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

func TestStoreReturnsCouponsAsCreated(t *testing.T) {
	t.Parallel()
	s := coupon.NewStore(labtest.DB(t))
	c := mustCreate(t, s, 1<<60, 7)
	got, err := s.Find(t.Context(), c.ID)
	check.NoError(t, err)
	c.Revision = got.Revision
	if diff := cmp.Diff(c, got); diff != "" {
		t.Error(diff)
	}
	if _, err := s.Find(t.Context(), 2); !errors.Is(err, coupon.ErrNotFound) {
		t.Errorf("unknown coupon: %v", err)
	}
	if _, err := s.Create(t.Context(), c, admin); err == nil {
		t.Error("the same id was created twice")
	}
}
