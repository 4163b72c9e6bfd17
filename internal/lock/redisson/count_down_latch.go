package redisson

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/lock/driver/redisdriver"
)

var (
	latchSetCountScript  = script("notify.lua", "latch_set_count.lua")
	latchCountDownScript = freeing("notify.lua", "latch_count_down.lua")
)

// An RCountDownLatch is Redisson's RCountDownLatch: goroutines wait until its
// count is zero. A count of zero is not stored. In a cluster the name must not
// have a hash tag, because Redisson's channel would then be in another slot.
//
// The changes are not idempotent, so each is sent only once. After an error the
// change may or may not have happened.
type RCountDownLatch struct {
	c    *Client
	name string
}

// CountDownLatch returns the latch with the given name.
func (c *Client) CountDownLatch(name string) RCountDownLatch { return RCountDownLatch{c, name} }

// channel returns Redisson's channel, which has braces even if the name has
// some.
func (l RCountDownLatch) channel() string {
	return "redisson_countdownlatch__channel__{" + l.name + "}"
}

// TrySetCount sets the count to n. It reports false, and changes nothing, if
// the count is not zero. An n below 1, or that is no int in Java, is lock.ErrInvalid.
func (l RCountDownLatch) TrySetCount(ctx context.Context, n int) (bool, error) {
	if err := checkNumber(n, 1); err != nil {
		return false, l.wrap("set count", err)
	}
	set, err := redisdriver.Flag(l.run(ctx, latchSetCountScript, n))
	return set, l.wrap("set count", err)
}

// CountDown decrements the count. It does nothing if the count is zero.
func (l RCountDownLatch) CountDown(ctx context.Context) error {
	return l.wrap("count down", l.run(ctx, latchCountDownScript).Err())
}

// Count returns the current count.
func (l RCountDownLatch) Count(ctx context.Context) (int, error) {
	n, err := l.c.rdb.Get(ctx, l.name).Int()
	if errors.Is(err, redis.Nil) {
		return 0, nil
	}
	return n, l.wrap("read", err)
}

// Await waits until the count is zero. When ctx ends first, it returns
// lock.ErrLocked with the cause of ctx.
func (l RCountDownLatch) Await(ctx context.Context) error {
	return l.c.waitFor(ctx, l.channel(), func(ctx context.Context) error {
		n, err := l.Count(ctx)
		if err == nil && n > 0 {
			return lock.ErrLocked
		}
		return err
	})
}

func (l RCountDownLatch) run(ctx context.Context, script *redis.Script, args ...any) *redis.Cmd {
	publish, err := l.c.publishCommand(ctx)
	if err != nil {
		cmd := redis.NewCmd(ctx)
		cmd.SetErr(err)
		return cmd
	}
	return script.Run(ctx, noRetryClient{l.c.rdb}, []string{l.name}, append([]any{publish, l.channel()}, args...)...)
}

func (l RCountDownLatch) wrap(operation string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("redisson: latch %s: %s: %w", l.name, operation, err)
}
