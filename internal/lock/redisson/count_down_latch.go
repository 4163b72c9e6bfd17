package redisson

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"example.com/flashsale/internal/lock"
)

var (
	latchSetCountScript  = script("latch_set_count.lua")
	latchCountDownScript = script("latch_count_down.lua")
)

// An RCountDownLatch is Redisson's RCountDownLatch: it opens when it has been counted
// down to zero, and is gone then. In a cluster its name must not have a hash
// tag, for Redisson's channel would be in another slot.
//
// Its changes are not idempotent, so each is sent once only: after an error it
// may or may not have happened.
type RCountDownLatch struct {
	c    *Client
	name string
}

// CountDownLatch names a latch; TrySetCount closes it.
func (c *Client) CountDownLatch(name string) RCountDownLatch { return RCountDownLatch{c, name} }

// channel has braces of its own, whatever the name.
func (l RCountDownLatch) channel() string {
	return "redisson_countdownlatch__channel__{" + l.name + "}"
}

// TrySetCount closes an open latch for n counts, and reports whether it was
// open.
func (l RCountDownLatch) TrySetCount(ctx context.Context, n int) (bool, error) {
	set, err := l.run(ctx, latchSetCountScript, n).Bool()
	return set, l.wrap("set", err)
}

// CountDown counts once; on an open latch it does nothing.
func (l RCountDownLatch) CountDown(ctx context.Context) error {
	return l.wrap("count down", l.run(ctx, latchCountDownScript).Err())
}

// Count is how many counts are missing; zero if the latch is open.
func (l RCountDownLatch) Count(ctx context.Context) (int, error) {
	n, err := l.c.rdb.Get(ctx, l.name).Int()
	if errors.Is(err, redis.Nil) {
		return 0, nil
	}
	return n, l.wrap("read", err)
}

// Await returns when the latch is open; at once, if nobody has closed it. When
// ctx ends before, it returns lock.ErrLocked with the cause of ctx.
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

func (l RCountDownLatch) wrap(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("redisson: latch %s: %s: %w", l.name, what, err)
}
