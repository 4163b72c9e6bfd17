package coupon_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/coupon"
	"example.com/flashsale/internal/lab/labtest"
)

func TestChangesSayWhoChangedWhat(t *testing.T) {
	t.Parallel()
	s, db := newStore(t, 3)
	mustCreate(t, s, 2, 5)
	db.MustExec("UPDATE coupons SET stock = 1 WHERE id = 1") // two were sold
	const other = 8
	_, err := s.Restock(t.Context(), 1, 10, other)
	check.NoError(t, err)
	all, err := s.Changes(t.Context(), 0, 0, 10)
	check.NoError(t, err)
	want := []coupon.Change{
		{CouponID: 1, AdminID: other, Action: coupon.ActionRestock, InitialStockFrom: 3, InitialStockTo: 13,
			StockFrom: 1, StockTo: 11},
		{CouponID: 2, AdminID: admin, Action: coupon.ActionCreate, InitialStockTo: 5, StockTo: 5},
		{CouponID: 1, AdminID: admin, Action: coupon.ActionCreate, InitialStockTo: 3, StockTo: 3},
	}
	if diff := cmp.Diff(want, all, cmpopts.IgnoreFields(coupon.Change{}, "ID", "CreatedAt")); diff != "" {
		t.Error(diff)
	}
	if age := time.Since(all[0].CreatedAt); age < -time.Second || age > time.Minute {
		t.Errorf("created %s ago", age)
	}
	if c, err := s.Find(t.Context(), 1); err != nil || c.Revision != all[0].ID {
		t.Errorf("revision %d, %v; want the id of the latest change, %d", c.Revision, err, all[0].ID)
	}
	page, err := s.Changes(t.Context(), 1, all[0].ID, 10)
	if err != nil || len(page) != 1 || page[0] != all[2] {
		t.Errorf("changes of coupon 1 before its last: %+v, %v", page, err)
	}
}

func TestRefusedActionLeavesNoChange(t *testing.T) {
	t.Parallel()
	s := coupon.NewStore(labtest.DB(t))
	c := mustCreate(t, s, 1, 3)
	if _, err := s.Create(t.Context(), c, admin); !errors.Is(err, coupon.ErrIDTaken) {
		t.Errorf("the same id: %v", err)
	}
	if _, err := s.Restock(t.Context(), 2, 1, admin); !errors.Is(err, coupon.ErrNotFound) {
		t.Errorf("unknown coupon: %v", err)
	}
	if _, err := s.Restock(t.Context(), 1, coupon.MaxStock, admin); !errors.Is(err, coupon.ErrStockLimit) {
		t.Errorf("beyond the limit: %v", err)
	}
	for _, add := range []int{0, -1, coupon.MaxStock + 1} {
		if _, err := s.Restock(t.Context(), 1, add, admin); !errors.Is(err, coupon.ErrInvalid) {
			t.Errorf("add %d: %v", add, err)
		}
	}
	if changes, err := s.Changes(t.Context(), 0, 0, 10); err != nil || len(changes) != 1 {
		t.Errorf("changes: %+v, %v", changes, err)
	}
}

// An action without a record of it must not take effect.
func TestActionThatCannotBeRecordedIsUndone(t *testing.T) {
	t.Parallel()
	s, db := newStore(t, 3)
	before, err := s.Find(t.Context(), 1)
	check.NoError(t, err)
	later := end.Add(time.Hour)
	db.MustExec("DROP TABLE coupon_updates")
	if _, err := s.Update(t.Context(), 1, coupon.Update{EndTime: &later}, admin); err == nil {
		t.Error("a sale was extended")
	}
	db.MustExec("ALTER TABLE coupon_changes DROP COLUMN action")
	if _, err := s.Create(t.Context(), mustNew(t, 2, 3), admin); err == nil {
		t.Error("a coupon was created")
	}
	if _, err := s.Find(t.Context(), 2); !errors.Is(err, coupon.ErrNotFound) {
		t.Errorf("the coupon exists: %v", err)
	}
	if _, err := s.Restock(t.Context(), 1, 1, admin); err == nil {
		t.Error("a coupon was restocked")
	}
	if got, err := s.Find(t.Context(), 1); err != nil || got != before {
		t.Errorf("the coupon is %+v, %v; want %+v", got, err, before)
	}
}

func TestUpdateChangesWhatItNames(t *testing.T) {
	t.Parallel()
	s := coupon.NewStore(labtest.DB(t))
	mustCreate(t, s, 2, 5)
	want := mustSplit(t, s, 1, 5, 3)
	name, early, late := "  50 off ", begin.Add(-time.Hour), end.Add(time.Hour+time.Nanosecond)
	for _, step := range []struct {
		update coupon.Update
		want   func()
	}{
		{coupon.Update{}, func() {}},
		{coupon.Update{Name: &name}, func() { want.Name = "50 off" }},
		{coupon.Update{EndTime: &late}, func() { want.EndTime = end.Add(time.Hour) }},
		{coupon.Update{BeginTime: &early}, func() { want.BeginTime = early }},
		{coupon.Update{BeginTime: &begin, EndTime: &end}, func() { want.BeginTime, want.EndTime = begin, end }},
	} {
		step.want()
		got, err := s.Update(t.Context(), 1, step.update, admin)
		check.NoError(t, err)
		want.Revision = got.Revision
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%+v: %s", step.update, diff)
		}
		if stored, err := s.Find(t.Context(), 1); err != nil || stored != got {
			t.Errorf("stored %+v, %v; want %+v", stored, err, got)
		}
	}
	if other, err := s.Find(t.Context(), 2); err != nil || other.Name == want.Name {
		t.Errorf("the other coupon is %+v, %v", other, err)
	}
}
