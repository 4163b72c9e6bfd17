package redisson

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/redis/go-redis/v9"

	"example.com/flashsale/internal/lock"
)

// A counter is the number of a semaphore or a latch. Its changes are not idempotent.
type counter struct {
	c             *Client
	name, channel string
}

// value returns the number, or 0 if there is none.
func (k counter) value(ctx context.Context) (int, error) {
	n, err := k.c.rdb.Get(ctx, k.name).Int()
	if errors.Is(err, redis.Nil) {
		return 0, nil
	}
	return n, k.wrap("read", err)
}

// run runs a script with the arguments PUBLISH command, channel and n, which must be at least
// least.
func (k counter) run(ctx context.Context, script *redis.Script, least, n int) *redis.Cmd {
	if err := checkNumber(n, least); err != nil {
		return redis.NewCmdResult(nil, err)
	}
	return script.Run(ctx, noRetryClient{k.c.rdb}, []string{k.name}, k.c.publish, k.channel, n)
}

// checkNumber accepts what is at least least and an int in Java.
func checkNumber(n, least int) error {
	if n < least || n > math.MaxInt32 {
		return fmt.Errorf("%w: number %d, want %d to %d", lock.ErrInvalid, n, least, math.MaxInt32)
	}
	return nil
}

func (k counter) wrap(operation string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("redisson: %s: %s: %w", k.name, operation, err)
}
