package redislock_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/lock/locktest"
	"example.com/flashsale/internal/lock/redislock"
)

// No connection works. After the end of its context or its wait Acquire only
// tries to release what it may have got, for half a second.
func TestHangingServerDelaysAcquireBeyondNoLimit(t *testing.T) {
	t.Parallel()
	const timeout, late, hang = 500 * time.Millisecond, 5 * time.Second, 30 * time.Second
	proxy := labtest.Proxy(t, labtest.Redis(t).URL)
	rdb := redis.NewClient(&redis.Options{Addr: proxy.Addr(), ContextTimeoutEnabled: true,
		DialTimeout: hang, ReadTimeout: hang, WriteTimeout: hang})
	t.Cleanup(func() { _ = rdb.Close() })
	l := redislock.New(rdb)
	locktest.MustNotify(t, l, "first")
	proxy.Partition()
	c, start := lock.New(l), time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	check.AtOnce(8, func(i int) {
		ctx, wait := ctx, time.Duration(-1)
		if i%2 == 0 {
			ctx, wait = t.Context(), timeout
		}
		_, err := c.Acquire(ctx, fmt.Sprint("other", i), lock.Options{Wait: wait})
		if d := time.Since(start); err == nil || d > timeout+late {
			t.Errorf("Acquire returned %v after %s, want an error within %s", err, d, timeout+late)
		}
	})
}
