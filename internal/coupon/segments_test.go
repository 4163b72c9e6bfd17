package coupon_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jmoiron/sqlx"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/coupon"
	"example.com/flashsale/internal/lab/labtest"
)

// rows returns the stock of each segment.
func rows(t *testing.T, db *sqlx.DB, id int64) (stocks []int) {
	t.Helper()
	const q = `SELECT stock FROM (SELECT 0 AS segment, stock FROM coupons WHERE id = ?
		UNION ALL SELECT segment, stock FROM coupon_segments WHERE coupon_id = ?) s ORDER BY segment`
	check.NoError(t, db.SelectContext(t.Context(), &stocks, q, id, id))
	return stocks
}

func TestSegmentsAddUpToTheStock(t *testing.T) {
	t.Parallel()
	s, db := newStore(t, 7)
	for id, c := range map[int64]struct{ stock, segments int }{2: {5, 4}, 3: {3, 3}, 4: {1_000, 64},
		5: {0, 1}, 6: {1, 1}} {
		created := mustSplit(t, s, id, c.stock, c.segments)
		found, err := s.Find(t.Context(), id)
		check.NoError(t, err)
		created.Revision = found.Revision
		if diff := cmp.Diff(created, found); diff != "" {
			t.Error(diff)
		}
		stocks := rows(t, db, id)
		if slices.Max(stocks)-slices.Min(stocks) > 1 || len(stocks) != c.segments {
			t.Errorf("%d units are split into %d", c.stock, stocks)
		}
	}
	list, err := s.List(t.Context(), 0, 10)
	check.NoError(t, err)
	for i, want := range []int{1, 0, 1_000, 3, 5, 7} { // newest first
		if list[i].Stock != want {
			t.Errorf("coupon %d is listed with stock %d, want %d", list[i].ID, list[i].Stock, want)
		}
	}
}

func TestSplitIsBounded(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ stock, segments int }{{100, 0}, {100, -1}, {100, 65}, {3, 4}, {0, 2}} {
		if _, err := mustNew(t, 1, c.stock).Split(c.segments); !errors.Is(err, coupon.ErrInvalid) {
			t.Errorf("%d units in %d segments: %v", c.stock, c.segments, err)
		}
	}
}

// Units that are under way between segments are stock, and a restock records them.
func TestUnitsUnderWayAreStock(t *testing.T) {
	t.Parallel()
	db := labtest.DB(t)
	s := coupon.NewStore(db)
	mustSplit(t, s, 1, 8, 4)
	db.MustExec(`UPDATE coupon_segments SET stock = 0 WHERE segment = 3`)
	db.MustExec(`INSERT INTO coupon_transfers VALUES (1, 3, 3, 0, 5, 1 ^ 3), (1, 0, 3, 0, -3, 1)`)
	if c, err := s.Find(t.Context(), 1); err != nil || c.Stock != 8 {
		t.Errorf("%+v, %v, want a stock of 8", c, err)
	}
	c, err := s.Restock(t.Context(), 1, 4, admin)
	check.NoError(t, err)
	found, err := s.Find(t.Context(), 1)
	if err != nil || c.Stock != 12 || found != c {
		t.Errorf("restocked: %+v, found %+v, %v, want a stock of 12", c, found, err)
	}
}

// Claims decrement the stock and administrators add to it at the same time. Each change
// begins where the one before it ended, apart from what was sold.
func TestSimultaneousRestocksAreExactAndSpreadOverSegments(t *testing.T) {
	t.Parallel()
	db := labtest.DB(t)
	s := coupon.NewStore(db)
	mustSplit(t, s, 1, 4, 4)
	check.AtOnce(20, func(n int) {
		if n%2 == 0 {
			db.MustExec(`UPDATE coupons SET stock = stock - 1 WHERE id = 1 AND stock >= 1`)
			db.MustExec(`UPDATE coupon_segments SET stock = stock - 1 WHERE segment = 3 AND stock >= 1`)
			return
		}
		if _, err := s.Restock(t.Context(), 1, 6, admin); err != nil {
			t.Error(err)
		}
	})
	c, err := s.Find(t.Context(), 1)
	if err != nil || c.InitialStock != 64 {
		t.Fatalf("after 4 + 10 × 6: %+v, %v", c, err)
	}
	if diff := cmp.Diff([]int{21, 11}, rows(t, db, 1)[1:3]); diff != "" {
		t.Error(diff)
	}
	changes, err := s.Changes(t.Context(), 1, 0, 100)
	if err != nil || len(changes) != 11 {
		t.Fatalf("%d changes, %v", len(changes), err)
	}
	for i, c := range changes[:10] {
		before := changes[i+1]
		if c.InitialStockFrom != before.InitialStockTo || c.StockFrom > before.StockTo ||
			c.InitialStockTo != c.InitialStockFrom+6 || c.StockTo != c.StockFrom+6 {
			t.Errorf("%+v follows %+v", c, before)
		}
	}
}

func TestReloadReadsWhatIsCached(t *testing.T) {
	t.Parallel()
	db := labtest.DB(t)
	s := coupon.NewStore(db)
	mustSplit(t, s, 1, 4, 2)
	cache := coupon.NewCache(s, time.Hour)
	mustFind(t, cache)
	db.MustExec(`UPDATE coupon_segments SET stock = 0`)
	if c := mustFind(t, cache); c.Stock != 4 {
		t.Fatalf("not cached: %+v", c)
	}
	if c, err := cache.Reload(t.Context(), 1); err != nil || c.Stock != 2 {
		t.Errorf("reloaded: %+v, %v", c, err)
	}
	if c := mustFind(t, cache); c.Stock != 2 {
		t.Errorf("not cached after the reload: %+v", c)
	}
}

// A claim has taken a unit of a segment, and commits while a restock is under way.
func TestRestockLocksItsSegments(t *testing.T) {
	t.Parallel()
	db := labtest.DB(t)
	s := coupon.NewStore(db)
	mustSplit(t, s, 1, 4, 4)
	conn, err := db.Connx(t.Context())
	check.NoError(t, err)
	defer conn.Close()
	mustExec(t, conn, "START TRANSACTION")
	mustExec(t, conn, "UPDATE coupon_segments SET stock = stock - 1 WHERE coupon_id = 1 AND segment = 1")
	restocked := check.Begin(func() error { _, err := s.Restock(t.Context(), 1, 4, admin); return err })
	check.Eventually(t, "the restock waits",
		func() bool { return labtest.Executing(t, db, "%coupon_segments%") == 1 })
	mustExec(t, conn, "COMMIT")
	check.NoError(t, <-restocked)
	changes, err := s.Changes(t.Context(), 1, 0, 1)
	if err != nil || changes[0].StockFrom != 3 || changes[0].StockTo != 7 {
		t.Errorf("recorded %+v, %v; want the stock from 3 to 7", changes, err)
	}
}
