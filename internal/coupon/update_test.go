package coupon_test

import (
	"errors"
	"strings"
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

func TestRefusedUpdateNamesTheFieldAndChangesNothing(t *testing.T) {
	t.Parallel()
	s := coupon.NewStore(labtest.DB(t))
	mustCreate(t, s, 1, 5)
	before, err := s.Find(t.Context(), 1)
	check.NoError(t, err)
	long, never := strings.Repeat("券", coupon.MaxName+1), time.Time{}
	for _, test := range []struct {
		field  string
		update coupon.Update
	}{
		{"name", coupon.Update{Name: &long, EndTime: &end}},
		{"begin_time", coupon.Update{BeginTime: &never}},
		{"end_time", coupon.Update{EndTime: &never}},
		{"end_time", coupon.Update{EndTime: &begin}},
		{"end_time", coupon.Update{BeginTime: &end}},
	} {
		_, err := s.Update(t.Context(), 1, test.update, admin)
		if invalid, ok := errors.AsType[*coupon.InvalidError](err); !ok || invalid.Field != test.field {
			t.Errorf("%+v: got %v", test.update, err)
		}
	}
	if _, err := s.Update(t.Context(), 2, coupon.Update{EndTime: &end}, admin); !errors.Is(err, coupon.ErrNotFound) {
		t.Errorf("unknown coupon: %v", err)
	}
	if after, err := s.Find(t.Context(), 1); err != nil || after != before {
		t.Errorf("the coupon is %+v, %v; want %+v", after, err, before)
	}
}
