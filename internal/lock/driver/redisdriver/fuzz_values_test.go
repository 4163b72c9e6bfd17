package redisdriver_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/lock/redislock"
)

// besides are the keys that drivers keep beside the lock of key.
var besides = []string{
	redislock.FenceKey("key"), "redisson_lock_queue:{key}", "redisson_lock_timeout:{key}",
	"redisson_lock_token:{key}", "{key}:owner:rwlock_timeout:1", "{key}:timeout",
}

// store stores a value of some type in key: kind 0 stores nothing. A hash may be one of
// Redisson's read lock.
func store(t *testing.T, rdb redis.UniversalClient, key string, kind byte, field, value string) {
	t.Helper()
	ctx, err := t.Context(), error(nil)
	switch kind % 6 {
	case 1:
		err = rdb.Set(ctx, key, value, 0).Err()
	case 2:
		err = rdb.HSet(ctx, key, "mode", "read", field, value).Err()
	case 3:
		err = rdb.RPush(ctx, key, field, value).Err()
	case 4:
		err = rdb.SAdd(ctx, key, value).Err()
	case 5:
		err = rdb.ZAdd(ctx, key, redis.Z{Score: float64(len(value)), Member: value}).Err()
	}
	check.NoError(t, err)
}

// Whatever the keys hold, the scripts end, and grant no lock whose key is there, and no fence that
// is not larger than the last. A read lock shares its key with other readers, and a write lock takes
// the key of readers that have expired.
func FuzzStoredValues(f *testing.F) {
	for kind := range byte(6) {
		for _, value := range []string{"", "0", "1", "41", "-5", "1.5", "nan", "inf", "-inf", "1e300", "0x10",
			"9007199254740992", "9223372036854775807", "99999999999999999999", "abc", " 7", "read", "write"} {
			f.Add(kind, "mode", value, byte(1), "41")
			f.Add(kind, "owner", value, kind, value)
			f.Add(byte(0), "", "", kind, value)
		}
	}
	rdb := labtest.Dial(f, labtest.Redis(f))
	f.Fuzz(func(t *testing.T, kind byte, field, value string, otherKind byte, other string) {
		for name := range verdictsOf {
			check.NoError(t, rdb.FlushAll(t.Context()).Err())
			store(t, rdb, "key", kind, field, value)
			for _, key := range besides {
				store(t, rdb, key, otherKind, field, other)
			}
			lockAmong(t, rdb, name, otherKind%6 == 1, other)
		}
	})
}

// lockAmong locks key beside what is stored. The last fence is in a string, or it is none.
func lockAmong(t *testing.T, rdb redis.UniversalClient, name string, isString bool, fence string) {
	t.Helper()
	held := rdb.Exists(t.Context(), "key").Val() == 1
	plain, shared := strings.HasPrefix(name, "redislock"), []string{"ReadLock", "WriteLock", "permit"}
	l, err := opened(name, rdb).TryLock(t.Context(), "key", time.Minute)
	stored := rdb.Get(t.Context(), redislock.FenceKey("key"))
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		t.Fatalf("%s: %v", name, err)
	case err == nil && held && !slices.Contains(shared, name):
		t.Fatalf("%s: locks a key that is there", name)
	case plain && !held && errors.Is(err, lock.ErrLocked):
		t.Fatalf("%s: a free key is locked", name)
	case plain && err != nil && isString && stored.Val() != fence:
		t.Errorf("%s: %v, and the fence %q has become %q", name, err, fence, stored.Val())
	}
	if err != nil {
		return
	}
	last, _ := stored.Uint64()
	if fenced := verdictsOf[name].acquired == positive; fenced &&
		(l.Fence() == 0 || l.Fence() > 1<<53 || plain && l.Fence() != last) {
		t.Errorf("%s: fence %d (stored: %d) after %q", name, l.Fence(), last, fence)
	}
	if plain {
		check.NoError(t, l.Extend(t.Context(), time.Minute))
	}
	check.NoError(t, l.Release(t.Context()))
}
