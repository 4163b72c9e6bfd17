package generations

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
)

// The articles' SimpleRedisLock in its versions, and the pseudo code before it.
// The commands are those that the articles print. Do not use these locks: each
// has a known defect.

const compareAndDelete = `if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end`

const setnxAndExpire = `if (redis.call('setnx', KEYS[1], ARGV[1]) == 1) then return redis.call('expire', KEYS[1], ARGV[2]); else return 0; end`

// setnxExpireLock is the pseudo code "if setnx: expire, work, finally del".
type setnxExpireLock struct {
	rdb redis.UniversalClient
	key string
}

func (l *setnxExpireLock) TryLock(ctx context.Context, ttl time.Duration) (bool, error) {
	if ok, err := l.rdb.SetNX(ctx, l.key, 1, 0).Result(); err != nil || !ok {
		return false, err
	}
	return true, l.rdb.PExpire(ctx, l.key, ttl).Err()
}

func (l *setnxExpireLock) Unlock(ctx context.Context) error { return l.rdb.Del(ctx, l.key).Err() }

// ownedLock is the TryLock of all versions of SimpleRedisLock, whose value is the
// owner.
type ownedLock struct {
	rdb   redis.UniversalClient
	key   string
	value string
}

func (l *ownedLock) TryLock(ctx context.Context, ttl time.Duration) (bool, error) {
	return setNX(ctx, l.rdb, l.key, l.value, ttl)
}

// setDelLock is the first SimpleRedisLock: SET NX EX, and DEL without a check of the
// owner.
type setDelLock struct{ ownedLock }

func (l *setDelLock) Unlock(ctx context.Context) error { return l.rdb.Del(ctx, l.key).Err() }

// setGetDelLock is the second SimpleRedisLock: GET compares the owner, then DEL.
type setGetDelLock struct{ ownedLock }

func (l *setGetDelLock) Unlock(ctx context.Context) error {
	value, err := l.rdb.Get(ctx, l.key).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		return err
	}
	if value != l.value {
		return nil
	}
	return l.rdb.Del(ctx, l.key).Err()
}

// luaLock is the third SimpleRedisLock: one script compares the owner and deletes.
type luaLock struct{ ownedLock }

func (l *luaLock) Unlock(ctx context.Context) error {
	return l.rdb.Eval(ctx, compareAndDelete, []string{l.key}, l.value).Err()
}

// scriptLock is the luaLock for clients without SET NX EX: one script sets the key
// and its time to live, in seconds.
type scriptLock struct{ luaLock }

func (l *scriptLock) TryLock(ctx context.Context, ttl time.Duration) (bool, error) {
	set, err := l.rdb.Eval(ctx, setnxAndExpire, []string{l.key}, l.value, int(ttl.Seconds())).Int()
	return set == 1, err
}

func setNX(ctx context.Context, rdb redis.UniversalClient, key, value string, ttl time.Duration) (bool, error) {
	err := rdb.SetArgs(ctx, key, value, redis.SetArgs{Mode: "NX", TTL: ttl}).Err()
	if errors.Is(err, redis.Nil) {
		return false, nil
	}
	return err == nil, err
}
