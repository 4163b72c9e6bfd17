// Package order decides which users get a coupon, and audits the result. Package
// order/commit writes the orders, package order/winners knows who has one.
//
// The database keeps three promises, whatever a lock or a cache says:
//
//	I1  orders of a coupon <= its stock       UPDATE … WHERE stock >= n
//	I2  orders of a user for a coupon <= 1    UNIQUE (coupon_id, user_id)
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
	// ErrAlreadyClaimed says that the user has an order for the coupon.
	ErrAlreadyClaimed = errors.New("order: already claimed")
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
	ErrAlreadyClaimed, ErrClaimInProgress,
}

func isVerdict(err error) bool {
	return slices.ContainsFunc(verdicts, func(v error) bool { return errors.Is(err, v) })
}

// An Order gives one coupon to one user.
type Order struct {
	ID        int64     `db:"id"`
	CouponID  int64     `db:"coupon_id"`
	UserID    int64     `db:"user_id"`
	CreatedAt time.Time `db:"created_at"` // to the millisecond, UTC
}

// ClaimInProgressError is ErrClaimInProgress whose lock has not been extended for a
// third of its time: its holder has probably died.
type ClaimInProgressError struct {
	Left time.Duration // until the lock ends by itself
}

func (e *ClaimInProgressError) Error() string { return ErrClaimInProgress.Error() }

// Is reports whether target is ErrClaimInProgress.
func (e *ClaimInProgressError) Is(target error) bool { return target == ErrClaimInProgress }

// AlreadyClaimedError is ErrAlreadyClaimed with the id of the user's order.
type AlreadyClaimedError struct{ OrderID int64 }

func (e *AlreadyClaimedError) Error() string {
	return fmt.Sprintf("%v with order %d", ErrAlreadyClaimed, e.OrderID)
}

// Is reports whether target is ErrAlreadyClaimed.
func (e *AlreadyClaimedError) Is(target error) bool { return target == ErrAlreadyClaimed }
