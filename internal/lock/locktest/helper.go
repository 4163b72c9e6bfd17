package locktest

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"example.com/flashsale/internal/lock"
)

const (
	// longTTL is a ttl that no subtest outlives.
	longTTL = time.Minute
	// timeout is how long a subtest waits for what must happen. What must not
	// happen is watched for a shorter time.
	timeout = 20 * time.Second
)

var keyCount atomic.Int64

// newKey returns a key that no other subtest or process uses.
func newKey() string { return fmt.Sprintf("locktest:%d:%d", time.Now().UnixNano(), keyCount.Add(1)) }

// mustTryLock returns the lease of a key that must be free. It repeats a TryLock
// without a verdict, which is no breach of the contract on a machine that stalls. What
// that one acquired, the next may be refused by.
func mustTryLock(t *testing.T, l lock.Locker, key string, ttl time.Duration) lock.Lease {
	t.Helper()
	unknown := false
	for deadline := time.Now().Add(timeout); ; time.Sleep(5 * time.Millisecond) {
		lease, err := l.TryLock(t.Context(), key, ttl)
		if err == nil {
			t.Cleanup(func() { _ = lease.Release(context.Background()) })
			return lease
		}
		unknown = unknown || !errors.Is(err, lock.ErrLocked)
		if !unknown || time.Now().After(deadline) {
			t.Fatalf("TryLock: %v, want a lease", err)
		}
	}
}

// eventuallyTryLock repeats TryLock with longTTL until it returns a lease.
func eventuallyTryLock(t *testing.T, l lock.Locker, key string) lock.Lease {
	t.Helper()
	for deadline := time.Now().Add(timeout); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		lease, err := l.TryLock(t.Context(), key, longTTL)
		if err == nil {
			t.Cleanup(func() { _ = lease.Release(context.Background()) })
			return lease
		}
		if !errors.Is(err, lock.ErrLocked) {
			t.Fatalf("TryLock: %v, want a lease or ErrLocked", err)
		}
	}
	t.Fatalf("TryLock still returns ErrLocked after %s", timeout)
	return nil
}

// recovers repeats a call after a fault until it returns nil: the client may first
// have to connect again. It must not return a verdict.
func recovers(t *testing.T, what string, call func() error) {
	t.Helper()
	var err error
	for deadline := time.Now().Add(timeout); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if err = call(); err == nil {
			return
		}
		if errors.Is(err, lock.ErrLocked) || errors.Is(err, lock.ErrLost) {
			break
		}
	}
	t.Fatalf("%s after the fault: %v", what, err)
}

// wantLocked checks that TryLock refuses the key. As mustTryLock does, it repeats a
// TryLock without a verdict.
func wantLocked(t *testing.T, l lock.Locker, key string) {
	t.Helper()
	for deadline := time.Now().Add(timeout); ; time.Sleep(5 * time.Millisecond) {
		lease, err := l.TryLock(t.Context(), key, longTTL)
		switch {
		case errors.Is(err, lock.ErrLocked):
			return
		case err == nil:
			_ = lease.Release(context.Background())
			t.Fatal("TryLock of a locked key: a lease, want ErrLocked")
		case time.Now().After(deadline):
			t.Fatalf("TryLock of a locked key: %v, want ErrLocked", err)
		}
	}
}

func wantLost(t *testing.T, what string, err error) {
	t.Helper()
	if !errors.Is(err, lock.ErrLost) {
		t.Errorf("%s: %v, want ErrLost", what, err)
	}
}

func noError(t *testing.T, what string, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}
