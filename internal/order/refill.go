package order

import (
	"context"
	"time"
)

const (
	// refillTimeout bounds a refill, beside the wait for a lock. Its claims have
	// deadlines of their own.
	refillTimeout = 3 * time.Second
	// slowRefill is when a refill no longer holds up the next one of its segment.
	slowRefill = 200 * time.Millisecond
)

// refill refills a segment once for all claims of users that have found it empty before.
func (c *Claims) refill(ctx context.Context, s Segment, users []int64) (struct{}, error) {
	ctx, cancel := context.WithTimeout(ctx, refillTimeout+c.options.Wait)
	defer cancel()
	return struct{}{}, c.cfg.Committer.Refill(ctx, s, c.alone(users[0]))
}

// alone returns what does a change of a stock under the lock of its claims, on which alone a
// sale may rely. A user's lock is not needed.
func (c *Claims) alone(userID int64) Alone {
	return func(ctx context.Context, s Segment, do func(context.Context) error) error {
		if c.cfg.Scope == PerUser {
			return do(ctx)
		}
		l, release, err := c.acquire(ctx, userID, s)
		if err != nil {
			return err
		}
		defer release()
		return do(l.Context())
	}
}
