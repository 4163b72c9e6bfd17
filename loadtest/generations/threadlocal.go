package main

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
)

// threadLocal is RedisLockImpl, with a ThreadLocal for the owner and one for
// the count of its holds. Of the latter it prints set(count++), which stores
// the count as it was. One value of this type is one thread.
type threadLocal struct {
	rdb   redis.UniversalClient
	key   string
	uuid  string
	count int
}

func (l *threadLocal) TryLock(ctx context.Context, ttl time.Duration) (locked bool, err error) {
	if l.uuid == "" {
		l.uuid = rand.Text()
		if locked, err = setNX(ctx, l.rdb, l.key, l.uuid, ttl); err != nil {
			return false, err
		}
	} else {
		locked = true
	}
	if locked {
		count := l.count
		l.count = count // set(count++)
	}
	return locked, nil
}

func (l *threadLocal) Unlock(ctx context.Context) error {
	value, err := l.rdb.Get(ctx, l.key).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		return err
	}
	if value != l.uuid {
		return nil
	}
	count := l.count
	if count--; count > 0 { // and is not stored either
		return nil
	}
	return l.rdb.Del(ctx, l.key).Err()
}

// counting is RedisReentrantLock: the count is right, and nobody asks the
// server whether the lease it counts still exists.
type counting struct {
	setLua
	count int
}

func (l *counting) TryLock(ctx context.Context, ttl time.Duration) (bool, error) {
	if l.count > 0 {
		l.count++
		return true, nil
	}
	ok, err := l.setLua.TryLock(ctx, ttl)
	if ok {
		l.count = 1
	}
	return ok, err
}

func (l *counting) Unlock(ctx context.Context) error {
	if l.count == 0 {
		return nil
	}
	if l.count--; l.count > 0 {
		return nil
	}
	return l.setLua.Unlock(ctx)
}
