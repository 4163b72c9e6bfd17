package order

import (
	"context"
	"errors"
	"time"

	"example.com/flashsale/internal/coupon"
)

// A Precheck refuses claims without a transaction. Metrics and traces call it a
// gate.
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
	now = c.now().UTC().Truncate(time.Millisecond)
	couponCtx, span := c.tracer.Start(ctx, "coupon")
	cp, err = c.coupons.Find(couponCtx, couponID)
	endStep(span, err)
	if err != nil {
		return cp, now, err
	}
	precheckCtx, span := c.tracer.Start(ctx, "gate")
	err = c.precheck(precheckCtx, cp, by, now)
	endStep(span, err)
	return cp, now, err
}

// precheck returns the verdict on a claim of cp that needs no transaction, or
// nil. A user who has an order gets ErrAlreadyClaimed even if the coupon is sold
// out: the reply to the winning claim may have been lost.
func (c *Claims) precheck(ctx context.Context, cp coupon.Coupon, by Claimant, now time.Time) error {
	err := cp.CheckOpen(now)
	if err != nil && !errors.Is(err, coupon.ErrSoldOut) {
		c.refused(PrecheckWindow)
		return err
	}
	if by.Number > cp.PerUser {
		c.refused(PrecheckLimit)
		return &LimitReachedError{cp.PerUser}
	}
	if orderID, found := c.winners.Find(cp, by); found {
		c.refused(PrecheckOrder)
		return &AlreadyClaimedError{OrderID: orderID}
	}
	if err == nil {
		return nil
	}
	precheck, err := c.winners.CheckSoldOut(ctx, cp, by)
	if isVerdict(err) {
		c.refused(precheck)
	}
	return err
}
