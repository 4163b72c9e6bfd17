package redlock

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"example.com/flashsale/internal/lock"
)

// A lease is valid from before its request was sent, and for its ttl less the
// drift of the clocks.
func TestValidityEndsBeforeTheTTL(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const ttl, drift = time.Second, 12 * time.Millisecond
		start := time.Now()
		time.Sleep(ttl - drift - time.Nanosecond)
		if !isValid(start, ttl) {
			t.Error("invalid before the ttl less the drift is over")
		}
		time.Sleep(time.Nanosecond)
		if isValid(start, ttl) {
			t.Error("still valid when a fast clock may have ended the lease")
		}
	})
}

// All nodes grant a ttl that drifting clocks may already have ended.
func TestMajorityThatMayHaveEndedIsNoLease(t *testing.T) {
	t.Parallel()
	l := New(lock.Local(), lock.Local(), lock.Local())
	if _, err := l.TryLock(t.Context(), "k", 2*time.Millisecond); err == nil || errors.Is(err, lock.ErrLocked) {
		t.Errorf("TryLock: %v, want an unknown outcome", err)
	}
}
