package labtest

import (
	"testing"

	"github.com/jmoiron/sqlx"

	"example.com/flashsale/internal/check"
)

// Executing returns how many statements whose text is like pattern the server executes in
// the database of db.
func Executing(tb testing.TB, db *sqlx.DB, pattern string) (n int) {
	tb.Helper()
	var mariaDB bool
	check.NoError(tb, db.GetContext(tb.Context(), &mariaDB, `SELECT VERSION() LIKE '%MariaDB%'`))
	schema := "performance_schema" // MySQL's other one fails while the text of any session is binary
	if mariaDB {
		schema = "information_schema"
	}
	// This statement contains the pattern too, and on a busy server it may still be listed after
	// its result has arrived.
	q := `SELECT COUNT(*) FROM ` + schema + `.processlist
		WHERE db = DATABASE() AND info LIKE ? AND info NOT LIKE '%processlist%'`
	check.NoError(tb, db.GetContext(tb.Context(), &n, q, pattern))
	return n
}

// SessionStatus returns the sum of the counters of the session whose names are like pattern. It limits db
// to one connection, because they are the session's.
func SessionStatus(tb testing.TB, db *sqlx.DB, pattern string) (sum int) {
	tb.Helper()
	db.SetMaxOpenConns(1)
	var rows []struct {
		Name  string `db:"Variable_name"`
		Value int    `db:"Value"`
	}
	check.NoError(tb, db.SelectContext(tb.Context(), &rows, `SHOW SESSION STATUS LIKE '`+pattern+`'`))
	for _, row := range rows {
		sum += row.Value
	}
	return sum
}
