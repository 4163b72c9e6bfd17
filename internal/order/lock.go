package order

import (
	"context"
	"errors"
	"strconv"
	"time"

	"example.com/flashsale/internal/lock"
)

// Scope is what a claim locks.
type Scope string

// PerUser locks the user: a concurrent claim of the same user is refused.
// PerCoupon locks the coupon: concurrent claims of the coupon wait. PerSegment
// locks a segment of the coupon's stock: concurrent claims of the segment wait.
const (
	PerUser    Scope = "user"
	PerCoupon  Scope = "coupon"
	PerSegment Scope = "segment"
)

// LockClass is the class of a claim's lock.
const LockClass = "claim"

// UserKey returns the key of a user's lock, without Config.LockPrefix.
func UserKey(userID int64) string { return "redis_lock:userId:" + strconv.FormatInt(userID, 10) }

// key returns the key of the lock of a claim by a user, of a unit of s.
func (c *Claims) key(userID int64, s Segment) string {
	if c.cfg.Scope == PerUser {
		return c.cfg.LockPrefix + UserKey(userID)
	}
	key := c.cfg.LockPrefix + "redis_lock:couponId:" + strconv.FormatInt(s.CouponID, 10)
	if c.cfg.Scope == PerSegment {
		key += ":segment:" + strconv.Itoa(s.Number)
	}
	return key
}

// A Section is the critical section of one claim: what the claim does while it
// has its lock.
type Section struct {
	Key     string // of the lock
	UserID  int64
	Wanted  time.Time // when the lock was requested
	Granted time.Time
}

// inProgress returns the verdict on a claim whose lock another one holds. A holder
// that lives extends its lock when a third of the time is over.
func (c *Claims) inProgress(err error) error {
	locked, ok := errors.AsType[*lock.LockedError](err)
	if !ok || locked.Left > c.options.TTL*2/3 {
		return ErrClaimInProgress
	}
	return &ClaimInProgressError{locked.Left}
}

// acquire takes the lock of a claim. Its span ends with the release, which release starts. The
// channel is closed when that has ended.
func (c *Claims) acquire(
	ctx context.Context, userID int64, s Segment,
) (l *lock.Lock, release func() (released <-chan struct{}), err error) {
	ctx, span := c.cfg.Tracer.Start(ctx, "lock")
	section := Section{Key: c.key(userID, s), UserID: userID, Wanted: time.Now()}
	if l, err = c.cfg.Locks.Acquire(ctx, section.Key, c.options); err != nil {
		endStep(span, err)
		if errors.Is(err, lock.ErrLocked) {
			err = c.inProgress(err)
		}
		return nil, nil, err
	}
	leave := func() {}
	if c.cfg.Enter != nil {
		section.Granted = time.Now()
		leave = c.cfg.Enter(l.Context(), section)
	}
	return l, func() <-chan struct{} {
		leave()
		return c.releaser.release(l, span)
	}, nil
}
