package redislock_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

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

// Another client replaces one lock by a hash.
func TestKeyOfAnotherTypeLosesOnlyItsOwnLease(t *testing.T) {
	t.Parallel()
	rdb := labtest.Dial(t, labtest.Redis(t))
	l := redislock.New(rdb)
	leases := make([]lock.Lease, 10)
	for i := range leases {
		leases[i] = locktest.MustTryLock(t, l, fmt.Sprint("k", i), time.Minute)
	}
	check.NoError(t, errors.Join(rdb.Del(t.Context(), "k7").Err(), rdb.HSet(t.Context(), "k7", "a", "b").Err()))
	for i, lease := range leases {
		err := lease.Extend(t.Context(), time.Minute)
		if lost := errors.Is(err, lock.ErrLost); lost != (i == 7) || err != nil && !lost {
			t.Errorf("extension of k%d = %v", i, err)
		}
	}
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

// The reply to the first request was lost with its connection, and the second was
// granted. The server runs the first one after the release.
func TestRepeatedRequestThatComesLateLeavesNoKey(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(redis.UniversalClient) *redislock.Locker{
		"New": redislock.New, "Fenced": redislock.Fenced,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := labtest.Redis(t)
			proxy := labtest.Proxy(t, server.URL)
			rdb, l := labtest.Dial(t, server), open(labtest.DialURL(t, "redis://"+proxy.Addr()))
			// The server knows the scripts.
			check.NoError(t, locktest.MustTryLock(t, l, "k", time.Minute).Release(t.Context()))
			proxy.Inject(faultproxy.LoseReply, "evalsha", 1)
			lease := locktest.MustTryLock(t, l, "k", time.Minute)
			if stored, _ := rdb.Get(t.Context(), redislock.FenceKey("k")).Uint64(); lease.Fence() != stored {
				t.Errorf("fence %d of the repeated request, want that of the first, %d", lease.Fence(), stored)
			}
			key := rdb.Dump(t.Context(), "k").Val()
			check.NoError(t, lease.Release(t.Context()))
			check.NoError(t, rdb.Restore(t.Context(), "k", time.Minute, key).Err())
			l.Drain(t.Context())
			locktest.MustTryLock(t, l, "k", time.Minute)
		})
	}
}
