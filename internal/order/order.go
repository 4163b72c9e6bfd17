// Package order decides which users get a coupon, and audits the result. Package
// order/commit writes the orders, package order/winners knows who has one.
//
// The database keeps three promises, whatever a lock or a cache says:
//
//	I1  orders of a coupon <= its stock       UPDATE … WHERE stock >= n
//	I2  orders of a user for a coupon <= n    UNIQUE (coupon_id, user_id, number)
//	I3  all stock is sold if demand suffices, and no acknowledged order is
//	    missing: one transaction, and caches in front of it that may admit
//	    too many claims, never refuse too many
//
// The per-user lock keeps concurrent claims of one user from contending in the
// database. With the unique key in place no promise depends on the lock.
package order

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"example.com/flashsale/internal/coupon"
)

// The verdicts on a claim, beside those of package coupon.
var (
	ErrNotFound = errors.New("order: not found")
	// ErrAlreadyClaimed says that the user has an order of that number for the coupon.
	ErrAlreadyClaimed = errors.New("order: already claimed")
	// ErrLimitReached says that the coupon has no unit of that number for a user.
	ErrLimitReached = errors.New("order: limit reached")
	// ErrUsed says that the order is used: it cannot be used again, nor returned.
	ErrUsed = errors.New("order: used")
	// ErrReturned and ErrExpired say that the order has ended.
	ErrReturned = errors.New("order: returned")
	ErrExpired  = errors.New("order: expired")
	// ErrOutcomeUnknown says that a use or a return may have been made. It may be
	// repeated.
	ErrOutcomeUnknown = errors.New("order: outcome unknown")
	// ErrNotReturnable says that only an administrator may return the order.
	ErrNotReturnable = errors.New("order: not returnable")
	// ErrClaimInProgress says that another claim of the user is running, and
	// that this one was not placed. With PerCoupon and PerSegment: the lock
	// was not free within LockWait.
	ErrClaimInProgress = errors.New("order: claim in progress")
	// ErrUnavailable says that Redis or MySQL did not reply in time. The order
	// may be committed nevertheless; the next claim then returns
	// ErrAlreadyClaimed.
	ErrUnavailable = errors.New("order: unavailable")
	// ErrIDTaken says that another order has the id. A Committer returns it, and
	// Claim tries another id.
	ErrIDTaken = errors.New("order: id taken")
)

// verdicts lists the errors that decide a claim.
var verdicts = []error{
	coupon.ErrNotFound, coupon.ErrNotStarted, coupon.ErrEnded, coupon.ErrSoldOut,
	ErrAlreadyClaimed, ErrLimitReached, ErrClaimInProgress,
}

func isVerdict(err error) bool {
	return slices.ContainsFunc(verdicts, func(v error) bool { return errors.Is(err, v) })
}

// A Claimant is who an order is for: a user, and which of the orders that the user may
// have of a coupon it is, 1 to the coupon's PerUser. The client chooses the number, so a
// claim that is repeated finds its own order, and the unique key bounds the orders of a
// user without counting them.
type Claimant struct {
	UserID int64 `db:"user_id"`
	Number int   `db:"number"`
}

// An Order gives one unit of a coupon to one user. All times are in UTC, to the
// millisecond.
type Order struct {
	ID       int64 `db:"id"`
	CouponID int64 `db:"coupon_id"`
	Claimant
	CreatedAt time.Time  `db:"created_at"`
	ExpiresAt *time.Time `db:"expires_at"` // nil: it does not expire
	UsedAt    *time.Time `db:"used_at"`    // nil: it is not used
	UsedBy    *int64     `db:"used_by"`
	UsedRef   *string    `db:"used_ref"`
	EndedAt   *time.Time `db:"ended_at"`  // nil: it counts
	State     State      `db:"state"`     // by the database's clock, when it was read
	ShardKey  *int64     `db:"shard_key"` // that of its segment on a sharded database, otherwise nil
}

// Shard returns the column by which a statement finds the order's shard, and its value.
func (o Order) Shard() (column string, key int64) {
	if o.ShardKey == nil {
		return "coupon_id", o.CouponID
	}
	return "shard_key", *o.ShardKey
}

// Segment returns the segment of cp that the order has a unit of.
func (o Order) Segment(cp coupon.Coupon) Segment {
	s := OwnSegment(cp, o.UserID)
	s.Sharded = o.ShardKey != nil
	return s
}

// A State is where an order is in its life.
//
//	claimed ──▶ used
//	claimed ──▶ returned, by its user or an administrator
//	claimed ──▶ expired, when its hold is over
//
// Orders that are claimed or used count. A unit of one that has ended is for sale again.
type State string

const (
	Claimed  State = "claimed"
	Used     State = "used"
	Returned State = "returned"
	Expired  State = "expired" // it ends within a second; until then it counts and cannot be used
)

// ClaimInProgressError is ErrClaimInProgress whose lock has not been extended for a
// third of its time: its holder has probably died.
type ClaimInProgressError struct {
	Left time.Duration // until the lock ends by itself
}

func (e *ClaimInProgressError) Error() string { return ErrClaimInProgress.Error() }

// Is reports whether target is ErrClaimInProgress.
func (e *ClaimInProgressError) Is(target error) bool { return target == ErrClaimInProgress }

// LimitReachedError is ErrLimitReached with the number of orders that a user may have.
type LimitReachedError struct{ PerUser int }

func (e *LimitReachedError) Error() string {
	return fmt.Sprintf("%v: %d for each user", ErrLimitReached, e.PerUser)
}

// Is reports whether target is ErrLimitReached.
func (e *LimitReachedError) Is(target error) bool { return target == ErrLimitReached }

// UsedError is ErrUsed with the time of the use.
type UsedError struct{ At time.Time }

func (e *UsedError) Error() string {
	return fmt.Sprintf("%v at %s", ErrUsed, e.At.Format(time.RFC3339))
}

// Is reports whether target is ErrUsed.
func (e *UsedError) Is(target error) bool { return target == ErrUsed }

// AlreadyClaimedError is ErrAlreadyClaimed with the id of the user's order.
type AlreadyClaimedError struct{ OrderID int64 }

func (e *AlreadyClaimedError) Error() string {
	return fmt.Sprintf("%v with order %d", ErrAlreadyClaimed, e.OrderID)
}

// Is reports whether target is ErrAlreadyClaimed.
func (e *AlreadyClaimedError) Is(target error) bool { return target == ErrAlreadyClaimed }
