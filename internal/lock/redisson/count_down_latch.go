package redisson

import (
	"context"

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
// Each change is sent only once: after an error other than lock.ErrLocked it may or may not
// have happened.
type RCountDownLatch struct{ counter }

// CountDownLatch returns the latch with the given name. Redisson's channel has braces even if
// the name has some.
func (c *Client) CountDownLatch(name string) RCountDownLatch {
	return RCountDownLatch{counter{c, name, "redisson_countdownlatch__channel__{" + name + "}"}}
}

// TrySetCount sets the count to n. It reports false, and changes nothing, if
// the count is not zero. An n below 1, or that is no int in Java, is lock.ErrInvalid.
func (l RCountDownLatch) TrySetCount(ctx context.Context, n int) (bool, error) {
	set, err := redisdriver.Flag(l.run(ctx, latchSetCountScript, 1, n))
	return set, l.wrap("set count", err)
}

// CountDown decrements the count. It does nothing if the count is zero.
func (l RCountDownLatch) CountDown(ctx context.Context) error {
	return l.wrap("count down", l.run(ctx, latchCountDownScript, 1, 1).Err())
}

// Count returns the current count.
func (l RCountDownLatch) Count(ctx context.Context) (int, error) { return l.value(ctx) }

// Await waits until the count is zero. When ctx ends first, it returns
// lock.ErrLocked with the cause of ctx.
func (l RCountDownLatch) Await(ctx context.Context) error {
	return l.c.waitFor(ctx, l.channel, func(ctx context.Context) error {
		n, err := l.Count(ctx)
		if err == nil && n > 0 {
			return lock.ErrLocked
		}
		return err
	})
}
