package redisson_test

import (
	"testing"

	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/lock/redisson"
)

func TestMultiLockAcquiresAllPartsOrNone(t *testing.T) {
	t.Parallel()
	c := newClient(t, labtest.Redis(t))
	l := c.Lock()
	both := redisson.NewMultiLock(redisson.Part{Locker: l, Key: "a"}, redisson.Part{Locker: l, Key: "b"},
		redisson.Part{Locker: l, Key: "a"})
	b := mustTryLock(t, l, "b", longTTL)
	wantLocked(t, both, "both")
	a := mustTryLock(t, l, "a", longTTL) // the multi-lock has released it
	noError(t, a.Release(t.Context()))
	noError(t, b.Release(t.Context()))
	lease := mustTryLock(t, both, "both", longTTL)
	wantLocked(t, l, "a")
	wantLocked(t, l, "b")
	noError(t, l.ForceUnlock(t.Context(), "a"))
	if err := lease.Extend(t.Context(), longTTL); err == nil {
		t.Error("Extend with a lost part: no error")
	}
	if err := lease.Release(t.Context()); err == nil {
		t.Error("Release with a lost part: no error")
	}
	noError(t, mustTryLock(t, l, "b", longTTL).Release(t.Context()))
}
