package order

import (
	"context"
	"errors"
	"time"

	"example.com/flashsale/internal/lock"
)

const (
	// refillTimeout bounds a refill, beside the wait for a lock. Its claims have
	// deadlines of their own.
	refillTimeout = 3 * time.Second
	// slowRefill is when a refill no longer holds up the next one of its segment.
	slowRefill = 200 * time.Millisecond
)

// refill refills a segment once for all claims of users that have found it empty before.
func (c *Claims) refill(ctx context.Context, s Segment, users []int64) ([]struct{}, error) {
	ctx, cancel := context.WithTimeout(ctx, refillTimeout+c.options.Wait)
	defer cancel()
	err := c.committer.Refill(ctx, s, func(ctx context.Context, from Segment, do func(context.Context) error) error {
		return c.alone(ctx, users[0], from, do)
	})
	return make([]struct{}, len(users)), err
}

// alone does what changes the stock of s under the lock of its claims, on which alone a
// sale may rely. A user's lock is not needed.
func (c *Claims) alone(ctx context.Context, userID int64, s Segment, do func(context.Context) error) error {
	if c.scope == PerUser {
		return do(ctx)
	}
	lockCtx, span := c.tracer.Start(ctx, "lock")
	l, leave, err := c.acquire(lockCtx, userID, s)
	if err != nil {
		endStep(span, err)
		if errors.Is(err, lock.ErrLocked) {
			err = c.inProgress(err)
		}
		return err
	}
	defer func() {
		leave()
		c.releaser.release(l, span)
	}()
	return do(l.Context())
}
