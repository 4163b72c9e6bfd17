// Package order decides who gets a coupon, and proves it.
//
// Three promises, each kept by the database whatever a lock or a cache
// believed:
//
//	I1  orders of a coupon <= its stock       UPDATE … WHERE stock >= n
//	I2  orders of a user for a coupon <= 1    UNIQUE (coupon_id, user_id)
//	I3  as long as there is demand all is sold, and no acknowledged order is
//	    missing: one transaction, and gates that can only be too generous
//
// The per-user lock in front of the transaction keeps a user's simultaneous
// claims from contending in the database; with the unique key in place no
// promise rests on it.
package order

import (
	"errors"
	"fmt"
	"time"
)

// The verdicts on a claim, beside those of package coupon.
var (
	ErrNotFound = errors.New("order: not found")
	// ErrAlreadyClaimed says that the user has an order for the coupon.
	ErrAlreadyClaimed = errors.New("order: already claimed")
	// ErrClaimInProgress says that another claim of the user is running (with
	// PerCoupon: others of the coupon were, for too long) and that this one
	// was not made.
	ErrClaimInProgress = errors.New("order: claim in progress")
	// ErrUnavailable says that Redis or MySQL did not answer in time. It is
	// no verdict: if the order was made after all, the next claim finds it as
	// ErrAlreadyClaimed.
	ErrUnavailable = errors.New("order: unavailable")
)

// An Order is one coupon for one user.
type Order struct {
	ID        int64     `db:"id"`
	CouponID  int64     `db:"coupon_id"`
	UserID    int64     `db:"user_id"`
	CreatedAt time.Time `db:"created_at"` // to the millisecond, UTC
}

// AlreadyClaimedError is ErrAlreadyClaimed with the order that the user has.
type AlreadyClaimedError struct{ OrderID int64 }

func (e *AlreadyClaimedError) Error() string {
	return fmt.Sprintf("%v with order %d", ErrAlreadyClaimed, e.OrderID)
}

// Is makes errors.Is find ErrAlreadyClaimed.
func (e *AlreadyClaimedError) Is(target error) bool { return target == ErrAlreadyClaimed }
