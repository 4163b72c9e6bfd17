package drivers_test

import (
	"testing"
	"time"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lab"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/lock/drivers"
	"example.com/flashsale/internal/transaction"
)

func TestMain(m *testing.M) { labtest.Main(m, lab.MySQLServer) }

// The server does not notice that callers have left: their statements would occupy its
// connections for as long as the table is locked.
func TestMySQLLockDoesNotWaitForALockedTableForLong(t *testing.T) {
	t.Parallel()
	dsn := labtest.DSN(t)
	other, err := labtest.Open(t, dsn).Conn(t.Context())
	check.NoError(t, err)
	_, err = other.ExecContext(t.Context(), "LOCK TABLES locks WRITE")
	check.NoError(t, err)
	opened, err := drivers.Open(t.Context(), "mysql", drivers.Servers{MySQL: dsn, Conns: 1})
	check.NoError(t, err)
	t.Cleanup(opened.Close)
	_, err = opened.Locker.TryLock(t.Context(), "key", time.Minute)
	if !transaction.HasNumber(err, transaction.LockWaitTimeout) {
		t.Error(err)
	}
}
