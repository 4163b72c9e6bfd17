package redislock_test

import (
	"slices"
	"testing"
	"time"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/faultproxy"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/lock/locktest"
	"example.com/flashsale/internal/lock/redislock"
)

func TestHolderIsNotifiedWhenTheServerLosesItsData(t *testing.T) {
	t.Parallel()
	server := labtest.Redis(t)
	l := redislock.Fenced(labtest.DialURL(t, server.URL))
	held, err := lock.New(l).Acquire(t.Context(), "k", lock.Options{TTL: 3 * time.Second})
	check.NoError(t, err)
	server.Kill()
	check.NoError(t, server.Restart())
	select {
	case <-held.Done():
	case <-time.After(20 * time.Second):
		t.Error("Done is still open after the end of the lease")
	}
	check.ErrorIs(t, held.Release(t.Context()), lock.ErrLost)
	next := locktest.MustTryLock(t, l, "k", time.Minute)
	if next.Fence() <= held.Fence() {
		t.Errorf("fence %d after the loss of all data, want more than %d", next.Fence(), held.Fence())
	}
}

func TestLockSurvivesAnOutageShorterThanItsTTL(t *testing.T) {
	t.Parallel()
	server := labtest.Redis(t)
	events := make(chan lock.EventKind, 100)
	c := lock.New(redislock.New(labtest.DialURL(t, server.URL)),
		lock.WithObserver(func(e lock.Event) { events <- e.Kind }))
	held, err := c.Acquire(t.Context(), "k", lock.Options{TTL: 5 * time.Second})
	check.NoError(t, err)
	server.Pause()
	await(t, events, lock.EventRenewalUnknown)
	server.Resume()
	await(t, events, lock.EventRenewed, lock.EventRenewedLate)
	check.NoError(t, held.Release(t.Context()))
}

// await returns after one of the events.
func await(t *testing.T, events <-chan lock.EventKind, wanted ...lock.EventKind) {
	t.Helper()
	timeout := time.After(20 * time.Second)
	for {
		select {
		case got := <-events:
			if slices.Contains(wanted, got) {
				return
			}
		case <-timeout:
			t.Fatalf("none of the events %v", wanted)
		}
	}
}

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
