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

// MustTryLock returns the lease of a key that must be free, and releases it when the test
// ends. It repeats a TryLock without a verdict, which is no breach of the contract on a
// machine that stalls. What that one acquired, the next may be refused by.
func MustTryLock(tb testing.TB, l lock.Locker, key string, ttl time.Duration) lock.Lease {
	tb.Helper()
	unknown := false
	for deadline := time.Now().Add(timeout); ; time.Sleep(5 * time.Millisecond) {
		lease, err := l.TryLock(tb.Context(), key, ttl)
		if err == nil {
			tb.Cleanup(func() { releaseAtLast(lease) })
			return lease
		}
		unknown = unknown || !errors.Is(err, lock.ErrLocked)
		if !unknown || time.Now().After(deadline) {
			tb.Fatalf("TryLock: %v, want a lease", err)
		}
	}
}

// releaseAtLast releases a lease at a server that may have ended.
func releaseAtLast(lease lock.Lease) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = lease.Release(ctx)
}

// eventuallyTryLock repeats TryLock with longTTL until it returns a lease.
func eventuallyTryLock(t *testing.T, l lock.Locker, key string) lock.Lease {
	t.Helper()
	for deadline := time.Now().Add(timeout); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		lease, err := l.TryLock(t.Context(), key, longTTL)
		if err == nil {
			t.Cleanup(func() { releaseAtLast(lease) })
			return lease
		}
		if !errors.Is(err, lock.ErrLocked) {
			t.Fatalf("TryLock: %v, want a lease or ErrLocked", err)
		}
	}
	t.Fatalf("TryLock still returns ErrLocked after %s", timeout)
	return nil
}

// verdict repeats a call until it returns nil or a verdict: after a fault the client may
// first have to connect again.
func verdict(t *testing.T, call func() error) (err error) {
	t.Helper()
	for deadline := time.Now().Add(timeout); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if err = call(); err == nil || errors.Is(err, lock.ErrLocked) || errors.Is(err, lock.ErrLost) {
			return err
		}
	}
	t.Fatalf("no verdict within %s: %v", timeout, err)
	return nil
}

// WantLocked checks that TryLock refuses the key. As MustTryLock does, it repeats a
// TryLock without a verdict.
func WantLocked(tb testing.TB, l lock.Locker, key string) {
	tb.Helper()
	for deadline := time.Now().Add(timeout); ; time.Sleep(5 * time.Millisecond) {
		lease, err := l.TryLock(tb.Context(), key, time.Second)
		switch {
		case errors.Is(err, lock.ErrLocked):
			return
		case err == nil:
			_ = lease.Release(context.Background())
			tb.Fatal("TryLock of a locked key: a lease, want ErrLocked")
		case time.Now().After(deadline):
			tb.Fatalf("TryLock of a locked key: %v, want ErrLocked", err)
		}
	}
}

// WantUnknown checks that err is no verdict: nobody knows whether the request was run.
func WantUnknown(tb testing.TB, err error) {
	tb.Helper()
	if err == nil || errors.Is(err, lock.ErrLocked) || errors.Is(err, lock.ErrLost) {
		tb.Errorf("%v, want an unknown outcome", err)
	}
}
