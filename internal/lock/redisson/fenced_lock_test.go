package redisson_test

import (
	"errors"
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

// A fence is at least the server's time in microseconds.
func TestFenceRisesAfterALossOfAllData(t *testing.T) {
	t.Parallel()
	server := labtest.Redis(t)
	rdb, l := labtest.Dial(t, server), newClient(t, server).FencedLock()
	before := locktest.MustTryLock(t, l, "k", longTTL)
	check.NoError(t, rdb.FlushAll(t.Context()).Err())
	after := locktest.MustTryLock(t, l, "k", longTTL)
	if after.Fence() <= before.Fence() {
		t.Errorf("fence %d after the loss, want more than %d", after.Fence(), before.Fence())
	}
	check.NoError(t, after.Release(t.Context()))
	check.NoError(t, rdb.Set(t.Context(), "redisson_lock_token:{k}", uint64(1)<<52, 0).Err())
	if fence := locktest.MustTryLock(t, l, "k", longTTL).Fence(); fence != 1<<52+1 {
		t.Errorf("fence %d, want the counter, which is later than the clock, plus 1", fence)
	}
}

func TestSideKeysOfOtherLocksAreInvalid(t *testing.T) {
	t.Parallel()
	l := newClient(t, labtest.Redis(t)).Lock()
	for _, key := range []string{"redisson_lock_token:{x}", "redisson_lock_queue:{x}", "redisson_lock_timeout:a{x}",
		"{x}:timeout", "a{x}:timeout", "{x}:uuid:1:rwlock_timeout:1"} {
		if _, err := l.TryLock(t.Context(), key, longTTL); !errors.Is(err, lock.ErrInvalid) {
			t.Errorf("TryLock of %s: %v, want ErrInvalid", key, err)
		}
	}
	locktest.MustTryLock(t, l, "timeout", longTTL)
}
