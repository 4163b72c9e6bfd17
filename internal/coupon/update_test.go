package coupon_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/coupon"
	"example.com/flashsale/internal/lab/labtest"
)

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
