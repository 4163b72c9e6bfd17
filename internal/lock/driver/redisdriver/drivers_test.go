package redisdriver_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/faultproxy"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/lock/locktest"
	"example.com/flashsale/internal/lock/redislock"
	"example.com/flashsale/internal/lock/redisson"
	"example.com/flashsale/internal/lock/redlock"
)

// lockers are all drivers of Redis, each with one server.
var lockers = map[string]func(redis.UniversalClient) lock.Locker{
	"redislock":         func(c redis.UniversalClient) lock.Locker { return redislock.New(c) },
	"redislock, fenced": func(c redis.UniversalClient) lock.Locker { return redislock.Fenced(c) },
	"redlock":           func(c redis.UniversalClient) lock.Locker { return redlock.New(redislock.New(c)) },
	"Lock":              func(c redis.UniversalClient) lock.Locker { return client(c).Lock() },
	"FencedLock":        func(c redis.UniversalClient) lock.Locker { return client(c).FencedLock() },
	"FairLock":          func(c redis.UniversalClient) lock.Locker { return client(c).FairLock() },
	"ReadLock":          func(c redis.UniversalClient) lock.Locker { return client(c).ReadLock() },
	"WriteLock":         func(c redis.UniversalClient) lock.Locker { return client(c).WriteLock() },
	"permit":            openPermit,
	"MultiLock": func(c redis.UniversalClient) lock.Locker {
		return redisson.NewMultiLock(redisson.Part{Locker: client(c).Lock()})
	},
}

func client(c redis.UniversalClient) *redisson.Client { return redisson.New(c) }

// openPermit returns a semaphore whose keys k and k2 have one permit each.
func openPermit(c redis.UniversalClient) lock.Locker {
	p := client(c).PermitExpirableSemaphore()
	for _, key := range []string{"k", "k2"} {
		if err := p.SetPermits(context.Background(), key, 1); err != nil {
			panic(err)
		}
	}
	return p
}

// ofEach runs a test of each driver beside the others.
func ofEach(t *testing.T, test func(t *testing.T, name string, open func(redis.UniversalClient) lock.Locker)) {
	t.Parallel()
	for name, open := range lockers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, name, open)
		})
	}
}

// Another client replaces one of two locks by a list.
func TestKeyOfAnotherTypeLosesOnlyItsOwnLease(t *testing.T) {
	ofEach(t, func(t *testing.T, name string, open func(redis.UniversalClient) lock.Locker) {
		rdb, key := labtest.Dial(t, labtest.Redis(t)), "k"
		if name == "permit" {
			key = "{k}:timeout"
		}
		l := open(rdb)
		replaced, kept := locktest.MustTryLock(t, l, "k", time.Minute), locktest.MustTryLock(t, l, "k2", time.Minute)
		check.NoError(t, errors.Join(rdb.Del(t.Context(), key).Err(), rdb.RPush(t.Context(), key, "").Err()))
		check.ErrorIs(t, replaced.Extend(t.Context(), time.Minute), lock.ErrLost)
		check.NoError(t, kept.Extend(t.Context(), time.Minute))
	})
}

// The reply to the first request was lost with its connection, and the second was
// granted. The server runs the first one after the release.
func TestRepeatedRequestThatComesLateLeavesNoKey(t *testing.T) {
	ofEach(t, func(t *testing.T, name string, open func(redis.UniversalClient) lock.Locker) {
		if name == "permit" {
			t.Skip("a permit that is requested twice is another one")
		}
		server := labtest.Redis(t)
		proxy, rdb := labtest.Proxy(t, server.URL), labtest.Dial(t, server)
		l := open(labtest.DialURL(t, "redis://"+proxy.Addr()))
		// The server knows the scripts.
		check.NoError(t, locktest.MustTryLock(t, l, "k", time.Minute).Release(t.Context()))
		proxy.Inject(faultproxy.LoseReply, "evalsha", 1)
		lease := locktest.MustTryLock(t, l, "k", time.Minute)
		if stored, _ := rdb.Get(t.Context(), redislock.FenceKey("k")).Uint64(); stored > 0 && lease.Fence() != stored {
			t.Errorf("fence %d of the repeated request, want that of the first, %d", lease.Fence(), stored)
		}
		key := rdb.Dump(t.Context(), "k").Val()
		check.NoError(t, lease.Release(t.Context()))
		check.NoError(t, rdb.Restore(t.Context(), "k", time.Minute, key).Err())
		l.(lock.Drainer).Drain(t.Context())
		locktest.MustTryLock(t, l, "k", time.Minute)
	})
}
