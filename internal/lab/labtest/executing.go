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
