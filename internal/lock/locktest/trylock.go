package locktest

import (
	"context"
	"errors"
	"sync"
	"testing"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lock"
)

func (s suite) implementsThePromisedInterfaces(t *testing.T) {
	t.Parallel()
	l := s.open(t)
	_, notifies := l.(lock.Notifier)
	_, blocks := l.(lock.BlockingLocker)
	_, batches := l.(lock.BatchExtender)
	_, watches := MustTryLock(t, l, newKey(), longTTL).(lock.WatchedLease)
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
		check.NoError(t, MustTryLock(t, a, key, longTTL).Release(t.Context()))
		check.NoError(t, MustTryLock(t, b, key, longTTL).Release(t.Context()))
	}
}

func (s suite) lockedKeyIsRefusedToOtherClients(t *testing.T) {
	t.Parallel()
	key := newKey()
	first := MustTryLock(t, s.open(t), key, longTTL)
	if !s.promises.Exclusive {
		MustTryLock(t, s.open(t), key, longTTL)
		return
	}
	WantLocked(t, s.open(t), key)
	check.NoError(t, first.Release(t.Context()))
}

func (s suite) lockedKeyIsRefusedToTheSameClient(t *testing.T) {
	t.Parallel()
	l, key := s.open(t), newKey()
	MustTryLock(t, l, key, longTTL)
	if !s.promises.Exclusive {
		MustTryLock(t, l, key, longTTL)
		return
	}
	WantLocked(t, l, key)
}

func (s suite) keysAreIndependent(t *testing.T) {
	t.Parallel()
	l, key := s.open(t), newKey()
	a, b := MustTryLock(t, l, key, longTTL), MustTryLock(t, l, key+"2", longTTL)
	check.NoError(t, a.Release(t.Context()))
	check.NoError(t, b.Release(t.Context()))
}

// A round without a verdict for each proves nothing: a driver whose requests end
// early has an unknown outcome on a machine that is stalled.
func (s suite) oneOfManyConcurrentTryLocksSucceeds(t *testing.T) {
	t.Parallel()
	const clients, perClient, rounds = 4, 8, 10
	want := int64(1)
	if !s.promises.Exclusive {
		want = clients * perClient
	}
	var lockers []lock.Locker
	for range clients {
		lockers = append(lockers, s.open(t))
	}
	var unknown error
	for range rounds {
		var succeeded int64
		succeeded, unknown = tryAtOnce(t, lockers, perClient)
		if succeeded > want || unknown == nil && succeeded < want {
			t.Errorf("%d concurrent TryLocks of one key succeeded, want %d", succeeded, want)
		}
		if unknown == nil {
			return
		}
	}
	t.Errorf("TryLock in %d of %d rounds: %v, want a lease or ErrLocked", rounds, rounds, unknown)
}

// tryAtOnce tries a new key with each of lockers several times at once. It returns
// how many tries succeeded, and the errors of those without a verdict.
func tryAtOnce(t *testing.T, lockers []lock.Locker, tries int) (succeeded int64, unknown error) {
	var (
		key   = newKey()
		start = make(chan struct{})
		mu    sync.Mutex
		group sync.WaitGroup
	)
	for _, l := range lockers {
		for range tries {
			group.Go(func() {
				<-start
				lease, err := l.TryLock(t.Context(), key, longTTL)
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err == nil:
					succeeded++
					t.Cleanup(func() { _ = lease.Release(context.Background()) })
				case !errors.Is(err, lock.ErrLocked):
					unknown = errors.Join(unknown, err)
				}
			})
		}
	}
	close(start)
	group.Wait()
	return succeeded, unknown
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
	MustTryLock(t, b, key, longTTL)
}
