package labtest

import (
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jmoiron/sqlx"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/connect"
)

// Open returns a connection pool that is closed when the test ends. Unless dsn
// says otherwise, opening a connection may take ten seconds: on a machine that
// stands still, a healthy server exceeds the two of the service.
func Open(tb testing.TB, dsn string, options ...connect.Option) *sqlx.DB {
	tb.Helper()
	cfg, err := mysql.ParseDSN(dsn)
	check.NoError(tb, err)
	if cfg.Timeout == 0 {
		cfg.Timeout = 10 * time.Second
	}
	db, err := connect.MySQL(cfg.FormatDSN(), 32, options...)
	check.NoError(tb, err)
	tb.Cleanup(func() { _ = db.Close() })
	return db
}
