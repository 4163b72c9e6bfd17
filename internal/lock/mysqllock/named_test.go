package mysqllock_test

import (
	"context"
	"errors"
	"fmt"
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
	lost := lease.(lock.WatchedLease).Lost()
	_, err := labtest.Open(t, dsn).ExecContext(t.Context(), "KILL ?", holder(t, dsn, key))
	check.NoError(t, err)
	select {
	case <-lost:
	case <-time.After(20 * time.Second):
		t.Fatal("Lost is not closed after the connection was killed")
	}
	check.ErrorIs(t, lease.Extend(t.Context(), time.Minute), lock.ErrLost)
	check.ErrorIs(t, lease.Release(t.Context()), lock.ErrLost)
	locktest.MustTryLock(t, l, key, time.Minute)
}

// A cancelled waiter has left the server's queue: the key is free as soon as
// its holder has released it.
func TestCancelledLockLeavesTheQueue(t *testing.T) {
	t.Parallel()
	dsn, name := labtest.DSN(t), labtest.Name(t)
	l, other := open(t, dsn), open(t, dsn)
	left := 0
	for i := range 100 {
		key := fmt.Sprint(name, i)
		held := locktest.MustTryLock(t, l, key, time.Minute)
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Millisecond)
		_, err := other.Lock(ctx, key, time.Minute)
		cancel()
		if !errors.Is(err, lock.ErrLocked) && !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("Lock: %v, want ErrLocked", err)
		}
		check.NoError(t, held.Release(t.Context()))
		if errors.Is(err, lock.ErrLocked) { // otherwise the server may still execute its first request
			check.NoError(t, locktest.MustTryLock(t, l, key, time.Minute).Release(t.Context()))
			left++
		}
	}
	if left == 0 {
		t.Error("no Lock was cancelled while it waited")
	}
}

// The names of GET_LOCK are case-insensitive.
func TestKeysAreCaseSensitive(t *testing.T) {
	t.Parallel()
	l, key := open(t, labtest.DSN(t)), labtest.Name(t)
	locktest.MustTryLock(t, l, key+"a", time.Minute)
	locktest.MustTryLock(t, l, key+"A", time.Minute)
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
