package redislock_test

import (
	"testing"
	"time"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/faultproxy"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/lock/locktest"
	"example.com/flashsale/internal/lock/redislock"
)

// The first Release succeeds and its reply is lost. Before the second one the
// server loses its scripts, and replies NOSCRIPT.
func TestReleaseRepeatedAfterScriptFlushIsNoLoss(t *testing.T) {
	t.Parallel()
	server := labtest.Redis(t)
	direct := labtest.Dial(t, server)
	proxy := labtest.Proxy(t, server.URL)
	l := redislock.New(labtest.DialURL(t, "redis://"+proxy.Addr()))
	lease := locktest.MustTryLock(t, l, "k", time.Minute)
	proxy.Inject(faultproxy.LoseReply, "eval", faultproxy.Always)
	locktest.WantUnknown(t, lease.Release(t.Context()))
	proxy.Heal()
	check.NoError(t, direct.ScriptFlush(t.Context()).Err())
	check.NoError(t, lease.Release(t.Context()))
}

// The last fence is that of a clock that was a day ahead.
func TestFenceIncreasesAfterTheClockHasSteppedBack(t *testing.T) {
	t.Parallel()
	rdb, last := labtest.Dial(t, labtest.Redis(t)), uint64(time.Now().Add(24*time.Hour).UnixMicro())
	check.NoError(t, rdb.Set(t.Context(), redislock.FenceKey("k"), last, 0).Err())
	for n := range uint64(2) {
		lease := locktest.MustTryLock(t, redislock.Fenced(rdb), "k", time.Minute)
		if got := lease.Fence(); got != last+n+1 {
			t.Errorf("fence %d, want %d", got, last+n+1)
		}
		check.NoError(t, lease.Release(t.Context()))
	}
	if left := rdb.PTTL(t.Context(), redislock.FenceKey("k")).Val(); left <= 0 {
		t.Errorf("the last fence is kept for %s", left)
	}
}
