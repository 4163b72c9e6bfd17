package locktest

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lock"
)

func (s suite) implementsThePromisedInterfaces(t *testing.T) {
	l := s.open(t)
	_, notifies := l.(lock.Notifier)
	_, blocks := l.(lock.BlockingLocker)
	got := Promises{Notifies: notifies, Blocks: blocks}
	want := Promises{Notifies: s.promises.Notifies, Blocks: s.promises.Blocks}
	if got != want {
		t.Errorf("the driver implements %+v, but promises %+v", got, want)
	}
}

func (s suite) lockedKeyIsRefused(t *testing.T) {
	l, key := s.open(t), newKey()
	MustTryLock(t, l, key, longTTL)
	for _, l := range []lock.Locker{l, s.open(t)} {
		if s.promises.Exclusive {
			WantLocked(t, l, key)
		} else {
			MustTryLock(t, l, key, longTTL)
		}
	}
}

// keysAreIndependent has keys that a service may take for one, or for a path.
func (s suite) keysAreIndependent(t *testing.T) {
	l, key := s.open(t), newKey()
	for _, end := range []string{"/b", "", "/", "/b/c", "2", "%2F", "a", "A", "/../locktest"} {
		MustTryLock(t, l, key+end, longTTL)
	}
}

func (s suite) oneOfManyConcurrentTryLocksSucceeds(t *testing.T) {
	const clients, perClient = 4, 8
	want := int64(1)
	if !s.promises.Exclusive {
		want = clients * perClient
	}
	key, lockers := newKey(), s.openEach(t, clients)
	var succeeded atomic.Int64
	check.AtOnce(clients*perClient, func(i int) {
		_ = verdict(t, func(ctx context.Context) error {
			lease, err := lockers[i%clients].TryLock(ctx, key, longTTL)
			if err == nil {
				succeeded.Add(1)
				t.Cleanup(func() { releaseAtLast(lease) })
			}
			return err
		})
	})
	if n := succeeded.Load(); n != want {
		t.Errorf("%d concurrent TryLocks of one key succeeded, want %d", n, want)
	}
}

func (s suite) cancelledTryLockLocksNothing(t *testing.T) {
	a, b, key := s.open(t), s.open(t), newKey()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	lease, err := a.TryLock(ctx, key, longTTL)
	if err == nil {
		t.Fatalf("TryLock with a cancelled context returned the lease %v", lease)
	}
	if errors.Is(err, lock.ErrLocked) {
		t.Errorf("TryLock of a free key with a cancelled context: %v, want no ErrLocked", err)
	}
	MustTryLock(t, b, key, longTTL)
}
