package redisson_test

import (
	"testing"
	"time"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/lock/locktest"
)

func TestForceUnlockNotifiesWaitersAndLosesTheLease(t *testing.T) {
	t.Parallel()
	server := labtest.Redis(t)
	c, other := newClient(t, server), newClient(t, server)
	lease := locktest.MustTryLock(t, c.Lock(), "k", longTTL)
	info, err := other.Lock().Inspect(t.Context(), "k")
	check.NoError(t, err)
	if len(info.Holders) != 1 || info.Holders[0].HoldCount != 1 || info.TTL < longTTL-time.Second ||
		info.TTL > longTTL {
		t.Errorf("%+v, want one holder for a minute", info)
	}
	wake, _ := locktest.MustNotify(t, other.Lock(), "k")
	check.NoError(t, other.Lock().ForceUnlock(t.Context(), "k"))
	check.Receive(t, "after ForceUnlock", wake)
	if info, err = other.Lock().Inspect(t.Context(), "k"); err != nil || len(info.Holders) != 0 || info.TTL != 0 {
		t.Errorf("%+v, %v, want no holders", info, err)
	}
	check.ErrorIs(t, lease.Extend(t.Context(), longTTL), lock.ErrLost)
	check.NoError(t, other.Lock().ForceUnlock(t.Context(), "k")) // a free lock is no error
}
