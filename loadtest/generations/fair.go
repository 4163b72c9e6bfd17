package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// fair is RedisFairLock: a list of those who wait, polled every 100 ms. An
// entry has no end, and unlock looks for its own under a timestamp in a key
// that nobody writes.
type fair struct {
	setLua
}

func (l *fair) queue() string { return l.key + ":queue" }

func (l *fair) TryLock(ctx context.Context, ttl time.Duration) (bool, error) {
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
			if ok, err := l.setLua.TryLock(ctx, ttl); ok || err != nil {
				return ok, err
			}
		}
		select {
		case <-ctx.Done(): // the thread is interrupted
			return false, l.rdb.LRem(context.WithoutCancel(ctx), l.queue(), 1, entry).Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func (l *fair) Unlock(ctx context.Context) error {
	if err := l.setLua.Unlock(ctx); err != nil {
		return err
	}
	stamp, err := l.rdb.Get(ctx, l.key+":timestamp").Result()
	if errors.Is(err, redis.Nil) {
		stamp = "null" // as Java spells what is not there
	} else if err != nil {
		return err
	}
	return l.rdb.LRem(ctx, l.queue(), 1, l.value+":"+stamp).Err()
}
