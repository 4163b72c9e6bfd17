package mysqllock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/lock"
)

const hasher = "SHA2(CONCAT(DATABASE(), '/', ?), 256)"

// holder is the connection that has the key, or zero.
func holder(t *testing.T, dsn, key string) (id uint64) {
	t.Helper()
	db := labtest.Open(t, dsn)
	fine(t, "holder", db.GetContext(t.Context(), &id, "SELECT COALESCE(IS_USED_LOCK("+hasher+"), 0)", key))
	return id
}

func TestKilledConnectionIsLost(t *testing.T) {
	t.Parallel()
	dsn, key := labtest.DSN(t), labtest.Name(t)
	l := open(t, dsn)
	lease := take(t, l, key, time.Minute)
	told := lease.(lock.WatchedLease).Lost()
	_, err := labtest.Open(t, dsn).ExecContext(t.Context(), "KILL ?", holder(t, dsn, key))
	fine(t, "kill", err)
	select {
	case <-told:
	case <-time.After(20 * time.Second):
		t.Fatal("nobody told of the loss")
	}
	lost(t, "extend", lease.Extend(t.Context(), time.Minute))
	lost(t, "release", lease.Release(t.Context()))
	take(t, l, key, time.Minute)
}

func TestReleaseIsNotLost(t *testing.T) {
	t.Parallel()
	lease := take(t, open(t, labtest.DSN(t)), labtest.Name(t), time.Minute)
	told := lease.(lock.WatchedLease).Lost()
	fine(t, "release", lease.Release(t.Context()))
	select {
	case <-told:
		t.Error("a released lease was called lost")
	case <-time.After(3 * time.Second): // more than a pulse
	}
}

// Whoever has given up has left the server's queue: the key is free as soon as
// its holder has let go.
func TestGivingUpLeavesTheQueue(t *testing.T) {
	t.Parallel()
	dsn, key := labtest.DSN(t), labtest.Name(t)
	l, other := open(t, dsn), open(t, dsn)
	for range 100 {
		held := take(t, l, key, time.Minute)
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Millisecond)
		_, err := other.Lock(ctx, key, time.Minute)
		cancel()
		if !errors.Is(err, lock.ErrLocked) && !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("Lock: %v, want ErrLocked", err)
		}
		fine(t, "release", held.Release(t.Context()))
		fine(t, "release", take(t, l, key, time.Minute).Release(t.Context()))
	}
}

// A connection goes back to the pool without a lock on it.
func TestConnectionsComeBackEmpty(t *testing.T) {
	t.Parallel()
	dsn, key := labtest.DSN(t), labtest.Name(t)
	l := open(t, dsn)
	for range 40 { // the pool has 16
		fine(t, "release", take(t, l, key, time.Minute).Release(t.Context()))
		held := take(t, l, key, time.Minute)
		if _, err := l.TryLock(t.Context(), key, time.Minute); !errors.Is(err, lock.ErrLocked) {
			t.Fatalf("TryLock: %v, want ErrLocked", err)
		}
		fine(t, "release", held.Release(t.Context()))
	}
	if id := holder(t, dsn, key); id != 0 {
		t.Errorf("connection %d has the lock", id)
	}
}

// GET_LOCK would take both for one.
func TestCaseMakesAnotherKey(t *testing.T) {
	t.Parallel()
	l, key := open(t, labtest.DSN(t)), labtest.Name(t)
	take(t, l, key+"a", time.Minute)
	take(t, l, key+"A", time.Minute)
}

// GET_LOCK's names are the server's.
func TestDatabaseMakesAnotherKey(t *testing.T) {
	t.Parallel()
	key := labtest.Name(t)
	take(t, open(t, labtest.DSN(t)), key, time.Minute)
	take(t, open(t, labtest.DSN(t)), key, time.Minute)
}

// A cancelled context is no loss, for nothing was asked.
func TestCancelledExtendKeepsTheLock(t *testing.T) {
	t.Parallel()
	lease := take(t, open(t, labtest.DSN(t)), labtest.Name(t), time.Minute)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := lease.Extend(ctx, time.Minute); !errors.Is(err, context.Canceled) {
		t.Errorf("Extend: %v, want context.Canceled", err)
	}
	if err := lease.Release(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Release: %v, want context.Canceled", err)
	}
	fine(t, "release", lease.Release(t.Context()))
}
