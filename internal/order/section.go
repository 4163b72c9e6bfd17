package order

import (
	"context"
	"time"

	"example.com/flashsale/internal/lock"
)

// A Section is the critical section of one claim: what the claim does while it
// has its lock.
type Section struct {
	Key     string // of the lock
	UserID  int64
	Wanted  time.Time // when the lock was requested
	Granted time.Time
}

// acquire takes the lock of a claim. leave must be called before the lock is
// released.
func (c *Claims) acquire(ctx context.Context, userID int64, s segment) (l *lock.Lock, leave func(), err error) {
	section := Section{Key: c.key(userID, s), UserID: userID}
	if c.enter != nil {
		section.Wanted = time.Now()
	}
	if l, err = c.locks.Acquire(ctx, section.Key, c.options); err != nil || c.enter == nil {
		return l, func() {}, err
	}
	section.Granted = time.Now()
	return l, c.enter(l.Context(), section), nil
}
