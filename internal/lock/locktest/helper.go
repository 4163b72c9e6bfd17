package locktest

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"example.com/flashsale/internal/check"
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
	return tryUntilLocked(tb, l, key, ttl, false)
}

// eventuallyTryLock repeats TryLock with longTTL until it returns a lease.
func eventuallyTryLock(tb testing.TB, l lock.Locker, key string) lock.Lease {
	tb.Helper()
	return tryUntilLocked(tb, l, key, longTTL, true)
}

func tryUntilLocked(tb testing.TB, l lock.Locker, key string, ttl time.Duration, mayBeLocked bool) lock.Lease {
	tb.Helper()
	for deadline := time.Now().Add(timeout); ; time.Sleep(5 * time.Millisecond) {
		lease, err := l.TryLock(tb.Context(), key, ttl)
		if err == nil {
			tb.Cleanup(func() { releaseAtLast(lease) })
			return lease
		}
		mayBeLocked = mayBeLocked || !errors.Is(err, lock.ErrLocked)
		if !mayBeLocked || time.Now().After(deadline) {
			tb.Fatalf("TryLock: %v, want a lease", err)
		}
	}
}

// Wait has l wait for key, and release it. The channel gets the error of what failed, or nil.
func Wait(ctx context.Context, l lock.BlockingLocker, key string, ttl time.Duration) <-chan error {
	return check.Begin(func() error {
		lease, err := l.Lock(ctx, key, ttl)
		if err == nil {
			err = lease.Release(context.WithoutCancel(ctx))
		}
		return err
	})
}

// releaseAtLast releases a lease at a server that may have ended.
func releaseAtLast(lease lock.Lease) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = lease.Release(ctx)
}

// verdict repeats a request until it returns nil or a verdict: after a fault the client may
// first have to connect again, and an ensemble to elect a leader.
func verdict(tb testing.TB, request func(context.Context) error) error {
	tb.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		ctx, cancel := context.WithTimeout(tb.Context(), 3*time.Second)
		err := request(ctx)
		cancel()
		if err == nil || isVerdict(err) {
			return err
		}
		if time.Now().After(deadline) {
			tb.Errorf("no verdict within a minute: %v", err)
			return err
		}
	}
}

// verdictOfExtend extends a lease to longTTL.
func verdictOfExtend(tb testing.TB, lease lock.Lease) error {
	tb.Helper()
	return verdict(tb, func(ctx context.Context) error { return lease.Extend(ctx, longTTL) })
}

func isVerdict(err error) bool { return errors.Is(err, lock.ErrLocked) || errors.Is(err, lock.ErrLost) }

// WantLocked checks that TryLock refuses the key. As MustTryLock does, it repeats a
// TryLock without a verdict.
func WantLocked(tb testing.TB, l lock.Locker, key string) {
	tb.Helper()
	err := verdict(tb, func(ctx context.Context) error {
		lease, err := l.TryLock(ctx, key, time.Second)
		if err == nil {
			releaseAtLast(lease)
		}
		return err
	})
	if !errors.Is(err, lock.ErrLocked) {
		tb.Fatalf("TryLock of a locked key: %v, want ErrLocked", err)
	}
}

// WantUnknown checks that err is no verdict: nobody knows whether the request was run.
func WantUnknown(tb testing.TB, err error) {
	tb.Helper()
	if err == nil || isVerdict(err) {
		tb.Errorf("%v, want an unknown outcome", err)
	}
}

// mustBe returns v as a T, or skips the test of a driver that offers no T.
func mustBe[T any](tb testing.TB, v any) T {
	tb.Helper()
	is, ok := v.(T)
	if !ok {
		tb.Skipf("the driver offers no %T", &is)
	}
	return is
}
