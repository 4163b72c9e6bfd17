package coupon_test

import (
	"errors"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

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
	if err != nil {
		t.Fatal(err)
	}
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

func TestListPagesFromTheNewest(t *testing.T) {
	t.Parallel()
	s := coupon.NewStore(labtest.DB(t))
	for id := range int64(5) {
		mustCreate(t, s, id+1, 1)
	}
	var got []int64
	for before := int64(0); ; {
		page, err := s.List(t.Context(), before, 2)
		if err != nil {
			t.Fatal(err)
		}
		if len(page) == 0 {
			break
		}
		for _, c := range page {
			got = append(got, c.ID)
		}
		before = got[len(got)-1]
	}
	if diff := cmp.Diff([]int64{5, 4, 3, 2, 1}, got); diff != "" {
		t.Error(diff)
	}
}

func TestRestockRaisesStockAndInitialStock(t *testing.T) {
	t.Parallel()
	s := coupon.NewStore(labtest.DB(t))
	mustCreate(t, s, 1, 3)
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			if _, err := s.Restock(t.Context(), 1, 2, admin); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	c, err := s.Find(t.Context(), 1)
	if err != nil || c.Stock != 23 || c.InitialStock != 23 {
		t.Errorf("after 3 + 10 × 2: %+v, %v", c, err)
	}
	if _, err := s.Restock(t.Context(), 2, 1, admin); !errors.Is(err, coupon.ErrNotFound) {
		t.Errorf("unknown coupon: %v", err)
	}
	if _, err := s.Restock(t.Context(), 1, coupon.MaxStock-22, admin); !errors.Is(err, coupon.ErrStockLimit) {
		t.Errorf("one beyond the limit: %v", err)
	}
	for _, add := range []int{0, -1, coupon.MaxStock + 1} {
		if _, err := s.Restock(t.Context(), 1, add, admin); !errors.Is(err, coupon.ErrInvalid) {
			t.Errorf("add %d: %v", add, err)
		}
	}
}
