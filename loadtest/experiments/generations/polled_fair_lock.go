package generations

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// polledFairLock is the articles' RedisFairLock: a list of the waiters, polled
// every 100 ms. A queue entry does not expire. Unlock looks for its own entry
// by a timestamp that it reads from a key that no code writes.
type polledFairLock struct {
	luaLock
}

func (l *polledFairLock) queue() string { return l.key + ":queue" }

func (l *polledFairLock) TryLock(ctx context.Context, ttl time.Duration) (bool, error) {
	entry := fmt.Sprintf("%s:%d", l.value, time.Now().UnixMilli())
	if err := l.rdb.RPush(ctx, l.queue(), entry).Err(); err != nil {
		return false, err
	}
	for {
		head, err := l.rdb.LRange(ctx, l.queue(), 0, 0).Result()
		if err != nil {
			return false, err
		}
		if len(head) > 0 && head[0] == entry {
			if ok, err := l.luaLock.TryLock(ctx, ttl); ok || err != nil {
				return ok, err
			}
		}
		select {
		case <-ctx.Done(): // the Java thread is interrupted
			return false, l.rdb.LRem(context.WithoutCancel(ctx), l.queue(), 1, entry).Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func (l *polledFairLock) Unlock(ctx context.Context) error {
	if err := l.luaLock.Unlock(ctx); err != nil {
		return err
	}
	stamp, err := l.rdb.Get(ctx, l.key+":timestamp").Result()
	if errors.Is(err, redis.Nil) {
		stamp = "null" // Java concatenates a missing value as "null"
	} else if err != nil {
		return err
	}
	return l.rdb.LRem(ctx, l.queue(), 1, l.value+":"+stamp).Err()
}
