package coupon_test

import (
	"testing"

	"github.com/jmoiron/sqlx"
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
