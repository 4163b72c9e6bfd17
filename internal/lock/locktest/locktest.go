// Package locktest checks that a driver keeps the contract of package lock.
// Every driver runs it. Each subtest is one promise of the contract, and its
// name states the promise.
//
// These mutants of redislock have been seen to fail:
//
//	SET without NX                                LockedKeyIsRefused, among others
//	extend without comparing the owner            LateExtendKeepsTheNextLease
//	release without comparing the owner           LateReleaseKeepsTheNextLease, HistoryIsLinearizable
//	a refusal with the wrong time left            RefusalTellsTheTimeLeft
//	one release after a lost request              LateRequestLeavesNoKey
//	release without a notification                NotifySendsAfterRelease, among others
//	a repeated release that returns ErrLost       LoseReplyOnce/Release, HangReplyOnce/Release
//	a refused extension ends the lease            ReleaseBesideAnExtensionSucceeds
//	a ttl cut to whole milliseconds               LeaseIsNotCutToTheServersUnit
//	a ttl that overflows                          LongestTTLIsKeptOrRefused
//	a fence that may repeat                       FenceRisesFromLeaseToLease, HistoryIsLinearizable
package locktest

import (
	"testing"
	"time"

	"example.com/flashsale/internal/lock"
)

// Promises describe a driver. The suite checks both sides: a driver must keep
// what it promises, and must not have what it does not promise.
type Promises struct {
	Exclusive bool // a key has at most one holder
	Expires   bool // a lease ends after its ttl
	Fences    bool // Fence rises from lease to lease of a key; otherwise it is 0

	// SpuriousRefusals says that a free key may be refused to a TryLock that
	// is concurrent with others.
	SpuriousRefusals bool

	Notifies bool // the locker is a lock.Notifier
	Blocks   bool // the locker is a lock.BlockingLocker
	Tells    bool // a refusal tells how long the holder's lease lasts

	// Tick is the coarsest step of the service's clock: a lease may end this
	// much after its ttl, but never before it.
	Tick time.Duration
}

// Run runs the suite. Each call of open must return a new client of the same
// service, because some faults show only between clients. Every subtest uses
// new keys, and may leave leases behind.
func Run(t *testing.T, p Promises, open func(testing.TB) lock.Locker) {
	s := suite{promises: p, open: open}
	for name, promise := range map[string]func(*testing.T){
		"ImplementsThePromisedInterfaces":     s.implementsThePromisedInterfaces,
		"LockedKeyIsRefused":                  s.lockedKeyIsRefused,
		"KeysAreIndependent":                  s.keysAreIndependent,
		"OneOfManyConcurrentTryLocksSucceeds": s.oneOfManyConcurrentTryLocksSucceeds,
		"RefusalTellsTheTimeLeft":             s.refusalTellsTheTimeLeft,
		"CancelledTryLockLocksNothing":        s.cancelledTryLockLocksNothing,
		"ReleasedLeaseIsLost":                 s.releasedLeaseIsLost,
		"ReleaseBesideAnExtensionSucceeds":    s.releaseBesideAnExtensionSucceeds,
		"LeaseExpiresAfterItsTTL":             s.leaseExpiresAfterItsTTL,
		"ExtendedLeaseOutlivesItsFirstTTL":    s.extendedLeaseOutlivesItsFirstTTL,
		"LeaseIsNotCutToTheServersUnit":       s.leaseIsNotCutToTheServersUnit,
		"LongestTTLIsKeptOrRefused":           s.longestTTLIsKeptOrRefused,
		"LateReleaseKeepsTheNextLease":        s.lateReleaseKeepsTheNextLease,
		"LateExtendKeepsTheNextLease":         s.lateExtendKeepsTheNextLease,
		"FenceRisesFromLeaseToLease":          s.fenceRisesFromLeaseToLease,
		"NotifySendsAfterRelease":             s.notifySendsAfterRelease,
		"NotifyNeverBlocks":                   s.notifyNeverBlocks,
		"NotifySendsNothingAfterStop":         s.notifySendsNothingAfterStop,
		"LockReturnsWhenItsContextEnds":       s.lockReturnsWhenItsContextEnds,
		"WaiterBehindAQueuedOneIsRefused":     s.waiterBehindAQueuedOneIsRefused,
		"HistoryIsLinearizable":               s.historyIsLinearizable,
		"DoRunsOneFunctionAtATime":            s.doRunsOneFunctionAtATime,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			promise(t)
		})
	}
}

type suite struct {
	promises Promises
	open     func(testing.TB) lock.Locker
}

// openEach returns n clients.
func (s suite) openEach(t *testing.T, n int) (lockers []lock.Locker) {
	t.Helper()
	for range n {
		lockers = append(lockers, s.open(t))
	}
	return lockers
}

// shortTTL is a ttl that ends soon, and still leaves time to act before that
// on a busy machine.
func (s suite) shortTTL() time.Duration { return max(500*time.Millisecond, s.promises.Tick) }
