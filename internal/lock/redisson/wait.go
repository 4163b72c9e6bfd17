package redisson

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"example.com/flashsale/internal/lock"
)

// maxPollInterval is the longest time between two attempts of a waiter. It
// bounds the delay after a lost message.
const maxPollInterval = time.Second

// waitFor calls try until it returns something else than lock.ErrLocked or ctx
// ends. It calls try at once, when the subscription to channel begins, at
// every message on channel, and at random intervals of half to one
// maxPollInterval.
func (c *Client) waitFor(ctx context.Context, channel string, try func(context.Context) error) error {
	err := try(ctx)
	if !errors.Is(err, lock.ErrLocked) {
		return err
	}
	wake := make(chan struct{}, 1)
	defer c.messages.Listen(channel, wake)()
	for errors.Is(err, lock.ErrLocked) {
		select {
		case <-wake:
		case <-time.After(maxPollInterval/2 + rand.N(maxPollInterval/2)):
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", lock.ErrLocked, context.Cause(ctx))
		}
		err = try(ctx)
	}
	return err
}
