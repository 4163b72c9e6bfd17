package redisson_test

import (
	"errors"
	"testing"
	"time"

	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/lock"
)

func TestForceUnlockNotifiesWaitersAndLosesTheLease(t *testing.T) {
	t.Parallel()
	server := labtest.Redis(t)
	c, other := newClient(t, server), newClient(t, server)
	lease := mustTryLock(t, c.Lock(), "k", longTTL)
	info, err := other.Lock().Inspect(t.Context(), "k")
	noError(t, err)
	if len(info.Holders) != 1 || info.Holders[0].HoldCount != 1 || info.TTL < longTTL-time.Second ||
		info.TTL > longTTL {
		t.Errorf("%+v, want one holder for a minute", info)
	}
	wake, stop := mustNotify(t, other.Lock(), "k")
	defer stop()
	noError(t, other.Lock().ForceUnlock(t.Context(), "k"))
	wantWake(t, "after ForceUnlock", wake)
	if info, err = other.Lock().Inspect(t.Context(), "k"); err != nil || len(info.Holders) != 0 || info.TTL != 0 {
		t.Errorf("%+v, %v, want no holders", info, err)
	}
	if err := lease.Extend(t.Context(), longTTL); !errors.Is(err, lock.ErrLost) {
		t.Errorf("Extend after ForceUnlock: %v, want ErrLost", err)
	}
	noError(t, other.Lock().ForceUnlock(t.Context(), "k")) // a free lock is no error
}
