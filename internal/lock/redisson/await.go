package redisson

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"example.com/flashsale/internal/lock"
)

// backstop is how late a waiter learns of a wake-up that was lost, at most.
const backstop = time.Second

// await calls try at once, when it begins to hear channel, at every message
// there, and now and then, until try returns something else than lock.ErrLocked
// or ctx ends.
func (c *Client) await(ctx context.Context, channel string, try func(context.Context) error) error {
	err := try(ctx)
	if !errors.Is(err, lock.ErrLocked) {
		return err
	}
	wake := make(chan struct{}, 1)
	defer c.hub.listen(channel, wake)()
	for errors.Is(err, lock.ErrLocked) {
		select {
		case <-wake:
		case <-time.After(backstop/2 + rand.N(backstop/2)):
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", lock.ErrLocked, context.Cause(ctx))
		}
		err = try(ctx)
	}
	return err
}
