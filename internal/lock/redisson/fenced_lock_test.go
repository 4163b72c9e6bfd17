package redisson_test

import (
	"errors"
	"testing"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/lock/locktest"
)

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
