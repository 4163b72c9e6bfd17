package order

import (
	"context"
	"errors"
	"time"

	"example.com/flashsale/internal/coupon"
)

// A Precheck refuses claims without a transaction. The metric flashsale_gate_refusals_total
// calls it a gate.
type Precheck string

const (
	PrecheckWindow Precheck = "window" // the sale has not started or has ended
	PrecheckLimit  Precheck = "limit"  // the coupon gives a user fewer orders
	PrecheckOrder  Precheck = "order"  // the claimant's order is known
	PrecheckFilter Precheck = "filter" // the coupon is sold out, and a filter proves that the user has no order
	// the coupon is sold out, and a query shared with others has looked for the user's order
	PrecheckLookup Precheck = "lookup"
)

// Prechecks lists them all.
var Prechecks = []Precheck{PrecheckWindow, PrecheckLimit, PrecheckOrder, PrecheckFilter, PrecheckLookup}

// findOpen returns the coupon, and the time at which the prechecks have passed, or
// the verdict that needs no transaction.
func (c *Claims) findOpen(
	ctx context.Context, by Claimant, couponID int64,
) (cp coupon.Coupon, now time.Time, err error) {
	now = c.cfg.Now().UTC().Truncate(time.Millisecond)
	err = c.step(ctx, "coupon", func(ctx context.Context) (err error) {
		cp, err = c.cfg.Coupons.Find(ctx, couponID)
		return err
	})
	if err == nil {
		err = c.step(ctx, "precheck", func(ctx context.Context) error { return c.precheck(ctx, cp, by, now) })
	}
	return cp, now, err
}

// precheck returns the verdict on a claim of cp that needs no transaction, or
// nil. A user who has an order gets ErrAlreadyClaimed even if the coupon is sold
// out: the reply to the winning claim may have been lost.
func (c *Claims) precheck(ctx context.Context, cp coupon.Coupon, by Claimant, now time.Time) error {
	err := cp.CheckOpen(now)
	if err != nil && !errors.Is(err, coupon.ErrSoldOut) {
		c.cfg.Refused(PrecheckWindow)
		return err
	}
	if by.Number > cp.PerUser {
		c.cfg.Refused(PrecheckLimit)
		return &LimitReachedError{cp.PerUser}
	}
	if orderID, found := c.cfg.Winners.Find(cp, by); found {
		c.cfg.Refused(PrecheckOrder)
		return &AlreadyClaimedError{OrderID: orderID}
	}
	if err == nil {
		return nil
	}
	precheck, err := c.cfg.Winners.CheckSoldOut(ctx, cp, by)
	if isVerdict(err) {
		c.cfg.Refused(precheck)
	}
	return err
}
