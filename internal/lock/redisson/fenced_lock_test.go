package redisson_test

import (
	"testing"

	"example.com/flashsale/internal/lab/labtest"
)

// A fence is at least the server's time in microseconds.
func TestFenceRisesAfterALossOfAllData(t *testing.T) {
	t.Parallel()
	server := labtest.Redis(t)
	rdb, l := labtest.Dial(t, server), newClient(t, server).FencedLock()
	before := mustTryLock(t, l, "k", longTTL)
	noError(t, rdb.FlushAll(t.Context()).Err())
	after := mustTryLock(t, l, "k", longTTL)
	if after.Fence() <= before.Fence() {
		t.Errorf("fence %d after the loss, want more than %d", after.Fence(), before.Fence())
	}
	noError(t, after.Release(t.Context()))
	noError(t, rdb.Set(t.Context(), "redisson_lock_token:{k}", uint64(1)<<52, 0).Err())
	if fence := mustTryLock(t, l, "k", longTTL).Fence(); fence != 1<<52+1 {
		t.Errorf("fence %d, want the counter, which is later than the clock, plus 1", fence)
	}
}
