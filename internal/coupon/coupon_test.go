package coupon_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/coupon"
	"example.com/flashsale/internal/lab"
	"example.com/flashsale/internal/lab/labtest"
)

func TestMain(m *testing.M) { labtest.Main(m, lab.MySQLServer) }

var (
	begin = time.Date(2026, 11, 11, 0, 0, 0, 0, time.UTC)
	end   = begin.Add(time.Hour)
)

func mustNew(tb testing.TB, id int64, stock int) coupon.Coupon {
	tb.Helper()
	c, err := coupon.New(id, "Singles' Day, ¥100 off 满减", begin, end, stock, begin.Add(-time.Hour))
	check.NoError(tb, err)
	return c
}

func TestNewNamesTheInvalidField(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("券", coupon.MaxName+1)
	for _, test := range []struct {
		field, name string
		begin, end  time.Time
		stock       int
	}{
		{"name", " ", begin, end, 1},
		{"name", long, begin, end, 1},
		{"begin_time", "a", time.Time{}, end, 1},
		{"end_time", "a", begin, begin, 1},
		{"end_time", "a", begin, begin.AddDate(9000, 0, 0), 1},
		{"stock", "a", begin, end, -1},
		{"stock", "a", begin, end, coupon.MaxStock + 1},
	} {
		_, err := coupon.New(1, test.name, test.begin, test.end, test.stock, begin)
		invalid, ok := errors.AsType[*coupon.InvalidError](err)
		if !ok || invalid.Field != test.field || !errors.Is(err, coupon.ErrInvalid) {
			t.Errorf("%+v: got %v", test, err)
		}
	}
}

func TestLimitsOfACouponAreIncluded(t *testing.T) {
	t.Parallel()
	begin := time.Date(2000, 1, 1, 0, 0, 0, 0, time.FixedZone("", 8*60*60)) // 1999 in UTC
	c, err := coupon.New(1, strings.Repeat("券", coupon.MaxName), begin, end, coupon.MaxStock, begin)
	check.NoError(t, err)
	_, err = c.WithRules(coupon.Rules{PerUser: coupon.MaxPerUser, HoldSeconds: coupon.MaxHoldSeconds})
	check.NoError(t, err)
}

func TestCheckOpenChecksWindowThenStock(t *testing.T) {
	t.Parallel()
	c := mustNew(t, 1, 1)
	soldOut := c
	soldOut.Stock = 0
	for _, test := range []struct {
		name   string
		coupon coupon.Coupon
		now    time.Time
		want   error
	}{
		{"before the window", c, begin.Add(-time.Millisecond), coupon.ErrNotStarted},
		{"at its begin", c, begin, nil},
		{"at its end", c, end, nil},
		{"after the window", c, end.Add(time.Millisecond), coupon.ErrEnded},
		{"sold out", soldOut, begin, coupon.ErrSoldOut},
		{"sold out, before the window", soldOut, begin.Add(-time.Second), coupon.ErrNotStarted},
		{"sold out, after the window", soldOut, end.Add(time.Second), coupon.ErrEnded},
	} {
		if err := test.coupon.CheckOpen(test.now); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", test.name, err, test.want)
		}
	}
	early, ok := errors.AsType[*coupon.NotStartedError](c.CheckOpen(begin.Add(-time.Hour)))
	if !ok || !early.BeginTime.Equal(begin) {
		t.Errorf("got %v, want a NotStartedError with the begin time", early)
	}
}

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
	return mustSplit(t, s, id, stock, 1)
}

func mustSplit(t *testing.T, s *coupon.Store, id int64, stock, segments int) coupon.Coupon {
	t.Helper()
	c, err := mustNew(t, id, stock).Split(segments)
	check.NoError(t, err)
	_, err = s.Create(t.Context(), c, admin)
	check.NoError(t, err)
	return c
}
