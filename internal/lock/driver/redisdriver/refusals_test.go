package redisdriver_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/lock/locktest"
	"example.com/flashsale/internal/lock/redislock"
	"example.com/flashsale/internal/lock/redisson"
)

// asUser returns the URL for a new user of the server, which has rules.
func asUser(tb testing.TB, url string, rules ...any) string {
	tb.Helper()
	args := append([]any{"acl", "setuser", "app", "on", ">pw"}, rules...)
	check.NoError(tb, labtest.DialURL(tb, url).Do(tb.Context(), args...).Err())
	return strings.Replace(url, "unix://", "unix://app:pw@", 1)
}

// ACL SETUSER gives a user of Redis 7 no channel.
func TestUserWithoutChannelsReleasesAndWaits(t *testing.T) {
	ofEach(t, func(t *testing.T, name string, open func(redis.UniversalClient) lock.Locker) {
		rdb := labtest.DialURL(t, asUser(t, labtest.Redis(t).URL, "~*", "+@all"))
		var released, unnotified atomic.Int32
		c := lock.New(open(rdb), lock.WithObserver(func(e lock.Event) {
			switch e.Kind {
			case lock.EventReleased:
				released.Add(1)
			case lock.EventUnnotified:
				unnotified.Add(1)
			}
		}))
		const holders = 3
		check.AtOnce(holders, func(int) {
			held, err := c.Acquire(t.Context(), "k", lock.Options{TTL: time.Hour, Wait: time.Minute})
			if err != nil {
				t.Error(err)
			} else if err := held.Release(t.Context()); err != nil {
				t.Errorf("Release: %v", err)
			}
		})
		if n := released.Load(); n != holders {
			t.Errorf("%d locks were released, want %d", n, holders)
		}
		if n := unnotified.Load(); n == 0 && name != "FairLock" { // it notifies only whom it knows
			t.Error("no release was counted as unnotified")
		}
	})
}

// fill makes the server refuse what needs memory until the returned function is called.
func fill(tb testing.TB, rdb redis.UniversalClient) (empty func()) {
	tb.Helper()
	set := func(limit string) {
		check.NoError(tb, rdb.ConfigSet(tb.Context(), "maxmemory", limit).Err())
	}
	set("1")
	return func() { set("0") }
}

func TestFullServerExtendsAndReleases(t *testing.T) {
	ofEach(t, func(t *testing.T, name string, open func(redis.UniversalClient) lock.Locker) {
		rdb := labtest.Dial(t, labtest.Redis(t))
		l := open(rdb)
		lease := locktest.MustTryLock(t, l, "k", time.Minute)
		empty := fill(t, rdb)
		_, err := l.TryLock(t.Context(), "other", time.Minute)
		if errors.Is(err, lock.ErrLocked) && name != "permit" { // which has none of this key
			t.Errorf("TryLock: %v, want an unknown outcome", err)
		}
		if err := lease.Extend(t.Context(), time.Hour); err != nil && name != "permit" {
			t.Errorf("Extend: %v", err)
		}
		check.NoError(t, lease.Release(t.Context()))
		empty()
		locktest.MustTryLock(t, l, "k", time.Minute)
	})
}

// The batches hold acquisitions beside releases.
func TestFullServerRefusesNoReleaseOfABatch(t *testing.T) {
	t.Parallel()
	const n = 300
	rdb := labtest.Dial(t, labtest.Redis(t))
	l := redislock.New(rdb)
	leases := make([]lock.Lease, n)
	check.AtOnce(n, func(i int) {
		var err error
		if leases[i], err = l.TryLock(t.Context(), fmt.Sprint("k", i), time.Minute); err != nil {
			t.Error(err)
		}
	})
	fill(t, rdb)
	check.AtOnce(2*n, func(i int) {
		if i >= n {
			_, _ = l.TryLock(t.Context(), fmt.Sprint("other", i), time.Minute)
		} else if err := leases[i].Release(t.Context()); err != nil {
			t.Errorf("Release: %v", err)
		}
	})
}

// How long a held lock has left is told to those who may ask. The others of a batch are
// locked nevertheless.
func TestUserWhoMayNotAskForTheTimeLeftIsRefusedAlone(t *testing.T) {
	t.Parallel()
	l := redislock.New(labtest.DialURL(t, asUser(t, labtest.Redis(t).URL, "~*", "&*", "+@all", "-pttl")))
	if _, err := l.TryLock(t.Context(), "k", time.Minute); err != nil {
		t.Fatal(err)
	}
	check.AtOnce(100, func(i int) {
		if i%2 == 0 {
			_, err := l.TryLock(t.Context(), "k", time.Minute)
			check.ErrorIs(t, err, lock.ErrLocked)
		} else if _, err := l.TryLock(t.Context(), fmt.Sprint("other", i), time.Minute); err != nil {
			t.Error(err)
		}
	})
}

func TestSemaphoreAndLatchNeedNeitherChannelNorMemory(t *testing.T) {
	t.Parallel()
	server := labtest.Redis(t)
	c := redisson.New(labtest.DialURL(t, asUser(t, server.URL, "~*", "+@all")))
	s, latch := c.Semaphore("s"), c.CountDownLatch("l")
	for what, try := range map[string]func(context.Context, int) (bool, error){
		"the semaphore": s.TrySetPermits, "the latch": latch.TrySetCount,
	} {
		if set, err := try(t.Context(), 2); !set || err != nil {
			t.Fatalf("create %s: %t, %v", what, set, err)
		}
	}
	check.NoError(t, s.Acquire(t.Context(), 2))
	fill(t, labtest.Dial(t, server))
	err := errors.Join(s.Release(t.Context(), 2), latch.CountDown(t.Context()), latch.CountDown(t.Context()))
	check.NoError(t, err)
	if n, err := s.AvailablePermits(t.Context()); n != 2 || err != nil {
		t.Errorf("%d permits, %v, want 2", n, err)
	}
	check.NoError(t, latch.Await(t.Context()))
}
