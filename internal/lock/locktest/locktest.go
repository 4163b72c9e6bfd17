// Package locktest is the contract of package lock as a suite that every
// driver runs. Clauses are sentences.
//
// Mutants of redislock that it has been seen to catch:
//
//	SET without NX                        LoseReplyOnce/TryLock, among others
//	extend whoever holds the key          LateExtendSparesNextHolder
//	release whoever holds the key         LateReleaseSparesNextHolder, HistoriesAreThoseOfALock
//	release without a wake-up             NotifyWakesOnRelease, NotifyNeverBlocks, NotifyStops
//	a retried release is a loss           LoseReplyOnce/Release, HangReplyOnce/Release
//	a fence that may repeat               FenceRises, HistoriesAreThoseOfALock
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

// Promises are what a driver claims. The suite checks both sides: what is
// promised must hold, and what is not promised must really be missing.
type Promises struct {
	Exclusive bool // one holder of a key at a time
	Expires   bool // a lease ends by itself when its ttl is over
	Fences    bool // Fence rises from lease to lease of one key; otherwise it is 0
	Splits    bool // a free key may be refused to some who ask for it at once

	Notifies bool // the locker is a lock.Notifier
	Waits    bool // the locker is a lock.BlockingLocker
	Batches  bool // the locker is a lock.BatchExtender
	Watches  bool // its leases are lock.WatchedLease

	// Tick is the coarsest step of the service's clock: a lease may end this
	// much after its ttl, never before it.
	Tick time.Duration
}

// Run runs every clause. Each call of open must make a new client of the same
// service, for what goes wrong between clients hides from a single one. Keys
// are new for each clause and run; leases may be left behind.
func Run(t *testing.T, p Promises, open func(testing.TB) lock.Locker) {
	s := suite{p: p, open: open}
	t.Run("KeepsItsPromisesOfKind", s.kinds)
	t.Run("GrantsAgainAfterRelease", s.grantsAgain)
	t.Run("RefusesSecondHolder", s.refusesSecond)
	t.Run("RefusesSecondHolderOfTheSameClient", s.refusesSecondOfSame)
	t.Run("KeysAreIndependent", s.independent)
	t.Run("OneWinnerInACrowd", s.crowd)
	t.Run("SecondReleaseIsLost", s.secondRelease)
	t.Run("ExtendAfterReleaseIsLost", s.extendAfterRelease)
	t.Run("LeaseEndsAfterItsTTL", s.expires)
	t.Run("ExtendOutlivesTTL", s.extends)
	t.Run("LateReleaseSparesNextHolder", s.lateRelease)
	t.Run("LateExtendSparesNextHolder", s.lateExtend)
	t.Run("CancelledContextGrantsNothing", s.cancelled)
	t.Run("FenceRises", s.fences)
	t.Run("FenceStays", s.fenceStays)
	t.Run("ExtendAllJudgesEachLease", s.extendAll)
	t.Run("NotifyWakesWhenItBeginsToListen", s.notifyBegins)
	t.Run("NotifyWakesOnRelease", s.notifyRelease)
	t.Run("NotifyNeverBlocks", s.notifyBlocks)
	t.Run("NotifyStops", s.notifyStops)
	t.Run("LockWaitsForRelease", s.lockWaits)
	t.Run("LockGivesUpWithItsContext", s.lockGivesUp)
	t.Run("HistoriesAreThoseOfALock", s.histories)
	t.Run("AcquireExcludes", s.acquireExcludes)
}

type suite struct {
	p    Promises
	open func(testing.TB) lock.Locker
}

// long is a ttl that no clause outlives.
const long = time.Minute

// patience is how long a clause waits for what must happen; what must not is
// watched for a shorter while.
const patience = 20 * time.Second

// short is a ttl that ends soon, and still long enough to act within it on a
// busy machine.
func (s suite) short() time.Duration { return max(200*time.Millisecond, 2*s.p.Tick) }

var names atomic.Int64

// key is a name that no other clause or process uses.
func key() string { return fmt.Sprintf("locktest:%d:%d", time.Now().UnixNano(), names.Add(1)) }

// take asks once and must get the lease.
func take(t *testing.T, l lock.Locker, key string, ttl time.Duration) lock.Lease {
	t.Helper()
	lease, err := l.TryLock(t.Context(), key, ttl)
	if err != nil {
		t.Fatalf("TryLock of a free key: %v", err)
	}
	t.Cleanup(func() { _ = lease.Release(context.Background()) })
	return lease
}

// takeSoon asks until it gets the lease.
func takeSoon(t *testing.T, l lock.Locker, key string, ttl time.Duration) lock.Lease {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		lease, err := l.TryLock(t.Context(), key, ttl)
		if err == nil {
			t.Cleanup(func() { _ = lease.Release(context.Background()) })
			return lease
		}
		if !errors.Is(err, lock.ErrLocked) {
			t.Fatalf("TryLock of a held key: %v, want ErrLocked", err)
		}
	}
	t.Fatalf("not free after %s", patience)
	return nil
}

// refused asks once and must be told that the key is held.
func refused(t *testing.T, l lock.Locker, key string) {
	t.Helper()
	lease, err := l.TryLock(t.Context(), key, long)
	if err == nil {
		_ = lease.Release(context.Background())
	}
	if !errors.Is(err, lock.ErrLocked) {
		t.Fatalf("TryLock of a held key: %v, want ErrLocked", err)
	}
}

func lost(t *testing.T, what string, err error) {
	t.Helper()
	if !errors.Is(err, lock.ErrLost) {
		t.Errorf("%s: %v, want ErrLost", what, err)
	}
}

func fine(t *testing.T, what string, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}
