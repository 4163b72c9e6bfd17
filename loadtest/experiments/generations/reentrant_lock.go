package generations

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
)

// threadLocalLock is the articles' RedisLockImpl. It keeps the owner and the
// hold count in ThreadLocals. The printed set(count++) stores the count before
// the increment. One value of this type is one thread.
type threadLocalLock struct {
	rdb   redis.UniversalClient
	key   string
	uuid  string
	count int
}

func (l *threadLocalLock) TryLock(ctx context.Context, ttl time.Duration) (locked bool, err error) {
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

func (l *threadLocalLock) Unlock(ctx context.Context) error {
	value, err := l.rdb.Get(ctx, l.key).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		return err
	}
	if value != l.uuid {
		return nil
	}
	count := l.count
	if count--; count > 0 { // the printed code does not store it either
		return nil
	}
	return l.rdb.Del(ctx, l.key).Err()
}

// countingLock is the articles' RedisReentrantLock. Its count is right, but a
// re-entry does not check that the lease still exists on the server.
type countingLock struct {
	luaLock
	count int
}

func (l *countingLock) TryLock(ctx context.Context, ttl time.Duration) (bool, error) {
	if l.count > 0 {
		l.count++
		return true, nil
	}
	ok, err := l.luaLock.TryLock(ctx, ttl)
	if ok {
		l.count = 1
	}
	return ok, err
}

func (l *countingLock) Unlock(ctx context.Context) error {
	if l.count == 0 {
		return nil
	}
	if l.count--; l.count > 0 {
		return nil
	}
	return l.luaLock.Unlock(ctx)
}
