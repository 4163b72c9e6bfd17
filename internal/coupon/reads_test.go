package coupon_test

import (
	"testing"

	"github.com/jmoiron/sqlx"

	"example.com/flashsale/internal/coupon"
	"example.com/flashsale/internal/lab/labtest"
)

// reads counts the SELECTs sent so far on db, which it limits to one connection
// so that the session counter sees all of them.
func reads(t *testing.T, db *sqlx.DB) int {
	t.Helper()
	db.SetMaxOpenConns(1)
	var row struct {
		Name  string `db:"Variable_name"`
		Value int    `db:"Value"`
	}
	if err := db.GetContext(t.Context(), &row, `SHOW SESSION STATUS LIKE 'Com_select'`); err != nil {
		t.Fatal(err)
	}
	return row.Value
}

func TestStaleEntriesAreDropped(t *testing.T) {
	t.Parallel()
	db := labtest.DB(t)
	const q = `INSERT INTO coupons (id, name, begin_time, end_time, initial_stock, stock, created_at)
		VALUES (:id, :name, :begin_time, :end_time, :initial_stock, :stock, :created_at)`
	var all []coupon.Coupon
	for id := range int64(coupon.MaxEntries + 1) {
		all = append(all, mustNew(t, id+1, 1))
	}
	if _, err := db.NamedExecContext(t.Context(), q, all); err != nil {
		t.Fatal(err)
	}
	cache := coupon.NewCache(coupon.NewStore(db), 0)
	for _, c := range all {
		if _, err := cache.Find(t.Context(), c.ID); err != nil {
			t.Fatal(err)
		}
	}
	if n := coupon.Entries(cache); n > coupon.MaxEntries {
		t.Errorf("%d coupons in memory, want at most %d", n, coupon.MaxEntries)
	}
}
