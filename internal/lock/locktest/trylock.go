package locktest

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"example.com/flashsale/internal/lock"
)

func (s suite) implementsThePromisedInterfaces(t *testing.T) {
	t.Parallel()
	l := s.open(t)
	_, notifies := l.(lock.Notifier)
	_, blocks := l.(lock.BlockingLocker)
	_, batches := l.(lock.BatchExtender)
	_, watches := mustTryLock(t, l, newKey(), longTTL).(lock.WatchedLease)
	got := Promises{Notifies: notifies, Blocks: blocks, Batches: batches, Watches: watches}
	want := Promises{
		Notifies: s.promises.Notifies, Blocks: s.promises.Blocks,
		Batches: s.promises.Batches, Watches: s.promises.Watches,
	}
	if got != want {
		t.Errorf("the driver implements %+v, but promises %+v", got, want)
	}
}

func (s suite) releasedKeyCanBeLockedAgain(t *testing.T) {
	t.Parallel()
	a, b, key := s.open(t), s.open(t), newKey()
	for range 3 {
		noError(t, "Release", mustTryLock(t, a, key, longTTL).Release(t.Context()))
		noError(t, "Release", mustTryLock(t, b, key, longTTL).Release(t.Context()))
	}
}

func (s suite) lockedKeyIsRefusedToOtherClients(t *testing.T) {
	t.Parallel()
	key := newKey()
	first := mustTryLock(t, s.open(t), key, longTTL)
	if !s.promises.Exclusive {
		mustTryLock(t, s.open(t), key, longTTL)
		return
	}
	wantLocked(t, s.open(t), key)
	noError(t, "Release by the first client", first.Release(t.Context()))
}

func (s suite) lockedKeyIsRefusedToTheSameClient(t *testing.T) {
	t.Parallel()
	l, key := s.open(t), newKey()
	mustTryLock(t, l, key, longTTL)
	if !s.promises.Exclusive {
		mustTryLock(t, l, key, longTTL)
		return
	}
	wantLocked(t, l, key)
}

func (s suite) keysAreIndependent(t *testing.T) {
	t.Parallel()
	l, key := s.open(t), newKey()
	a, b := mustTryLock(t, l, key, longTTL), mustTryLock(t, l, key+"2", longTTL)
	noError(t, "Release of the first key", a.Release(t.Context()))
	noError(t, "Release of the second key", b.Release(t.Context()))
}

func (s suite) oneOfManyConcurrentTryLocksSucceeds(t *testing.T) {
	t.Parallel()
	const clients, perClient = 4, 8
	var (
		key       = newKey()
		start     = make(chan struct{})
		succeeded atomic.Int64
		group     sync.WaitGroup
	)
	for range clients {
		l := s.open(t)
		for range perClient {
			group.Go(func() {
				<-start
				lease, err := l.TryLock(t.Context(), key, longTTL)
				if err == nil {
					succeeded.Add(1)
					t.Cleanup(func() { _ = lease.Release(context.Background()) })
				} else if !errors.Is(err, lock.ErrLocked) {
					t.Errorf("TryLock: %v, want a lease or ErrLocked", err)
				}
			})
		}
	}
	close(start)
	group.Wait()
	want := int64(1)
	if !s.promises.Exclusive {
		want = clients * perClient
	}
	if succeeded.Load() != want {
		t.Errorf("%d concurrent TryLocks of one key succeeded, want %d", succeeded.Load(), want)
	}
}

func (s suite) cancelledTryLockLocksNothing(t *testing.T) {
	t.Parallel()
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
	mustTryLock(t, b, key, longTTL)
}
