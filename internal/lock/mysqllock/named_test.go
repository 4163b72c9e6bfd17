package mysqllock_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/lock"
)

const hash = "SHA2(CONCAT(DATABASE(), '/', ?), 256)"

// holder returns the id of the connection that holds key, or zero.
func holder(t *testing.T, dsn, key string) (id uint64) {
	t.Helper()
	db := labtest.Open(t, dsn)
	noError(t, "holder", db.GetContext(t.Context(), &id, "SELECT COALESCE(IS_USED_LOCK("+hash+"), 0)", key))
	return id
}

func TestKilledConnectionLosesTheLease(t *testing.T) {
	t.Parallel()
	dsn, key := labtest.DSN(t), labtest.Name(t)
	l := open(t, dsn)
	lease := mustTryLock(t, l, key, time.Minute)
	lost := lease.(lock.WatchedLease).Lost()
	_, err := labtest.Open(t, dsn).ExecContext(t.Context(), "KILL ?", holder(t, dsn, key))
	noError(t, "kill", err)
	select {
	case <-lost:
	case <-time.After(20 * time.Second):
		t.Fatal("Lost is not closed after the connection was killed")
	}
	wantLost(t, "extend", lease.Extend(t.Context(), time.Minute))
	wantLost(t, "release", lease.Release(t.Context()))
	mustTryLock(t, l, key, time.Minute)
}

func TestReleaseDoesNotCloseLost(t *testing.T) {
	t.Parallel()
	lease := mustTryLock(t, open(t, labtest.DSN(t)), labtest.Name(t), time.Minute)
	lost := lease.(lock.WatchedLease).Lost()
	noError(t, "release", lease.Release(t.Context()))
	select {
	case <-lost:
		t.Error("Lost was closed by Release")
	case <-time.After(3 * time.Second): // longer than the check interval
	}
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
		held := mustTryLock(t, l, key, time.Minute)
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Millisecond)
		_, err := other.Lock(ctx, key, time.Minute)
		cancel()
		if !errors.Is(err, lock.ErrLocked) && !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("Lock: %v, want ErrLocked", err)
		}
		noError(t, "release", held.Release(t.Context()))
		if errors.Is(err, lock.ErrLocked) { // otherwise the server may still execute its first request
			noError(t, "release", mustTryLock(t, l, key, time.Minute).Release(t.Context()))
			left++
		}
	}
	if left == 0 {
		t.Error("no Lock was cancelled while it waited")
	}
}

func TestReleasedConnectionsHaveNoLock(t *testing.T) {
	t.Parallel()
	dsn, key := labtest.DSN(t), labtest.Name(t)
	l := open(t, dsn)
	for range 40 { // the pool has 16
		noError(t, "release", mustTryLock(t, l, key, time.Minute).Release(t.Context()))
		held := mustTryLock(t, l, key, time.Minute)
		if _, err := l.TryLock(t.Context(), key, time.Minute); !errors.Is(err, lock.ErrLocked) {
			t.Fatalf("TryLock: %v, want ErrLocked", err)
		}
		noError(t, "release", held.Release(t.Context()))
	}
	if id := holder(t, dsn, key); id != 0 {
		t.Errorf("connection %d still holds the lock", id)
	}
}

// The names of GET_LOCK are case-insensitive.
func TestKeysAreCaseSensitive(t *testing.T) {
	t.Parallel()
	l, key := open(t, labtest.DSN(t)), labtest.Name(t)
	mustTryLock(t, l, key+"a", time.Minute)
	mustTryLock(t, l, key+"A", time.Minute)
}

// The names of GET_LOCK are server-wide.
func TestKeysBelongToTheirDatabase(t *testing.T) {
	t.Parallel()
	key := labtest.Name(t)
	mustTryLock(t, open(t, labtest.DSN(t)), key, time.Minute)
	mustTryLock(t, open(t, labtest.DSN(t)), key, time.Minute)
}

// An Extend whose context is already cancelled sends nothing and loses nothing.
func TestCancelledExtendKeepsTheLock(t *testing.T) {
	t.Parallel()
	lease := mustTryLock(t, open(t, labtest.DSN(t)), labtest.Name(t), time.Minute)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := lease.Extend(ctx, time.Minute); !errors.Is(err, context.Canceled) {
		t.Errorf("Extend: %v, want context.Canceled", err)
	}
	if err := lease.Release(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Release: %v, want context.Canceled", err)
	}
	noError(t, "release", lease.Release(t.Context()))
}
