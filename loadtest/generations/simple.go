package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// The generations of SimpleRedisLock and of the pseudo code before it, command
// by command as the articles print them. Do not use them: each is here for
// its defect.

const compareAndDelete = `if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end`

// setnxExpire is "if setnx: expire, work, finally del".
type setnxExpire struct {
	rdb redis.UniversalClient
	key string
}

func (l *setnxExpire) TryLock(ctx context.Context, ttl time.Duration) (bool, error) {
	if ok, err := l.rdb.SetNX(ctx, l.key, 1, 0).Result(); err != nil || !ok {
		return false, err
	}
	return true, l.rdb.PExpire(ctx, l.key, ttl).Err()
}

func (l *setnxExpire) Unlock(ctx context.Context) error { return l.rdb.Del(ctx, l.key).Err() }

// setDel is the first SimpleRedisLock: SET NX EX, and DEL whoever the owner is.
type setDel struct {
	rdb    redis.UniversalClient
	key    string
	thread int64
}

func (l *setDel) TryLock(ctx context.Context, ttl time.Duration) (bool, error) {
	return setNX(ctx, l.rdb, l.key, fmt.Sprint(l.thread), ttl)
}

func (l *setDel) Unlock(ctx context.Context) error { return l.rdb.Del(ctx, l.key).Err() }

// setGetDel is the second: the owner is compared, and then deleted.
type setGetDel struct {
	rdb   redis.UniversalClient
	key   string
	value string
}

func (l *setGetDel) TryLock(ctx context.Context, ttl time.Duration) (bool, error) {
	return setNX(ctx, l.rdb, l.key, l.value, ttl)
}

func (l *setGetDel) Unlock(ctx context.Context) error {
	value, err := l.rdb.Get(ctx, l.key).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		return err
	}
	if value != l.value {
		return nil
	}
	return l.rdb.Del(ctx, l.key).Err()
}

// setLua is the third: compared and deleted in one script. Its owner is
// whatever value is.
type setLua struct {
	rdb   redis.UniversalClient
	key   string
	value string
}

func (l *setLua) TryLock(ctx context.Context, ttl time.Duration) (bool, error) {
	return setNX(ctx, l.rdb, l.key, l.value, ttl)
}

func (l *setLua) Unlock(ctx context.Context) error {
	return l.rdb.Eval(ctx, compareAndDelete, []string{l.key}, l.value).Err()
}

func setNX(ctx context.Context, rdb redis.UniversalClient, key, value string, ttl time.Duration) (bool, error) {
	err := rdb.SetArgs(ctx, key, value, redis.SetArgs{Mode: "NX", TTL: ttl}).Err()
	if errors.Is(err, redis.Nil) {
		return false, nil
	}
	return err == nil, err
}

// owner is the value of the later generations: a prefix of the process and the
// thread's id.
func owner(p *process) string { return fmt.Sprintf("%s-%d", rand.Text(), p.thread) }
