package mysqllock_test

import (
	"context"
	"testing"
	"time"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/lock/locktest"
)

const hash = "SHA2(CONCAT(DATABASE(), '/', ?), 256)"

// holder returns the id of the connection that holds key, or zero.
func holder(t *testing.T, dsn, key string) (id uint64) {
	t.Helper()
	db := labtest.Open(t, dsn)
	check.NoError(t, db.GetContext(t.Context(), &id, "SELECT COALESCE(IS_USED_LOCK("+hash+"), 0)", key))
	return id
}

func TestKilledConnectionLosesTheLease(t *testing.T) {
	t.Parallel()
	dsn, key := labtest.DSN(t), labtest.Name(t)
	l := open(t, dsn)
	lease := locktest.MustTryLock(t, l, key, time.Minute)
	_, err := labtest.Open(t, dsn).ExecContext(t.Context(), "KILL ?", holder(t, dsn, key))
	check.NoError(t, err)
	check.Eventually(t, "the server frees the lock", func() bool { return holder(t, dsn, key) == 0 })
	check.ErrorIs(t, lease.Extend(t.Context(), time.Minute), lock.ErrLost)
	check.ErrorIs(t, lease.Release(t.Context()), lock.ErrLost)
	locktest.MustTryLock(t, l, key, time.Minute)
}

// The names of GET_LOCK are server-wide.
func TestKeysBelongToTheirDatabase(t *testing.T) {
	t.Parallel()
	key := labtest.Name(t)
	locktest.MustTryLock(t, open(t, labtest.DSN(t)), key, time.Minute)
	locktest.MustTryLock(t, open(t, labtest.DSN(t)), key, time.Minute)
}

// An Extend whose context is already cancelled sends nothing and loses nothing.
func TestCancelledExtendKeepsTheLock(t *testing.T) {
	t.Parallel()
	lease := locktest.MustTryLock(t, open(t, labtest.DSN(t)), labtest.Name(t), time.Minute)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	check.ErrorIs(t, lease.Extend(ctx, time.Minute), context.Canceled)
	check.ErrorIs(t, lease.Release(ctx), context.Canceled)
	check.NoError(t, lease.Release(t.Context()))
}

// A server may close connections that are idle for a second.
func TestIdleHolderKeepsItsNamedLock(t *testing.T) {
	t.Parallel()
	dsn := labtest.EmptyDatabase(t, labtest.MySQL(t))
	admin := labtest.Open(t, dsn)
	_, err := admin.ExecContext(t.Context(), "SET GLOBAL wait_timeout = 1")
	check.NoError(t, err)
	lease := locktest.MustTryLock(t, open(t, dsn), labtest.Name(t), time.Minute)
	idle, err := labtest.Open(t, dsn).Connx(t.Context())
	check.NoError(t, err)
	_, err = idle.ExecContext(t.Context(), "SELECT GET_LOCK('idle', 0)")
	check.NoError(t, err)
	check.Eventually(t, "the server closes another connection that is idle", func() (closed bool) {
		check.NoError(t, admin.GetContext(t.Context(), &closed, "SELECT IS_USED_LOCK('idle') IS NULL"))
		return closed
	})
	check.NoError(t, lease.Extend(t.Context(), time.Minute))
	check.NoError(t, lease.Release(t.Context()))
}
