package redisson_test

import (
	"testing"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/lock/locktest"
)

// Another client replaces one of two locks by a string.
func TestKeyOfAnotherTypeLosesOnlyItsOwnLease(t *testing.T) {
	t.Parallel()
	server := labtest.Redis(t)
	c, rdb := newClient(t, server), labtest.Dial(t, server)
	for name, l := range map[string]lock.Locker{"lock": c.Lock(), "fair": c.FairLock(), "fenced": c.FencedLock(),
		"read": c.ReadLock(), "write": c.WriteLock(), "permit": singlePermit{c.PermitExpirableSemaphore()}} {
		replaced, kept := locktest.MustTryLock(t, l, name, longTTL), locktest.MustTryLock(t, l, name+"2", longTTL)
		key := name
		if name == "permit" {
			key = "{permit}:timeout"
		}
		check.NoError(t, rdb.Set(t.Context(), key, "", 0).Err())
		check.ErrorIs(t, replaced.Extend(t.Context(), longTTL), lock.ErrLost)
		check.NoError(t, kept.Extend(t.Context(), longTTL))
	}
}
