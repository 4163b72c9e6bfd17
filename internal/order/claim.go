package order

import (
	"context"
	"errors"
	"fmt"
	"time"

	"example.com/flashsale/internal/coupon"
	"example.com/flashsale/internal/idgen"
	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/tracing"
)

// Claims processes claims. It is safe for concurrent use, and any number of
// instances may process claims on one database.
type Claims struct {
	coupons  *coupon.Cache
	ids      *idgen.Worker
	strategy committer
	winners  *winners
	slots    *slots
	locks    *lock.Client
	key      func(userID int64, s segment) string
	options  lock.Options
	enter    func(context.Context, Section) (leave func()) // nil outside the lab
	releaser releaser
	refused  func(Gate)
	tracer   tracing.Tracer
}

// Claim places a user's order for one coupon, and returns it once it is durable.
// Otherwise the error is a verdict of this package or of package coupon, or
// ErrOverloaded, or wraps ErrUnavailable if the outcome is not known when ctx ends.
func (c *Claims) Claim(ctx context.Context, userID, couponID int64) (Order, error) {
	o, err := c.claim(ctx, userID, couponID)
	if err != nil && !isVerdict(err) && !isMistake(err) && !errors.Is(err, ErrOverloaded) {
		err = fmt.Errorf("%w: claim of coupon %d for user %d: %w", ErrUnavailable, couponID, userID, err)
	}
	return o, err
}

// isMistake reports whether err is a wrong use of the lock by this package.
func isMistake(err error) bool {
	return errors.Is(err, lock.ErrReentry) || errors.Is(err, lock.ErrInvalid)
}

func isVerdict(err error) bool {
	for _, v := range []error{
		coupon.ErrNotFound, coupon.ErrNotStarted, coupon.ErrEnded, coupon.ErrSoldOut,
		ErrAlreadyClaimed, ErrClaimInProgress,
	} {
		if errors.Is(err, v) {
			return true
		}
	}
	return false
}

func (c *Claims) claim(ctx context.Context, userID, couponID int64) (Order, error) {
	cp, now, err := c.admit(ctx, userID, couponID)
	if err != nil {
		return Order{}, err
	}
	defer c.slots.release(couponID)
	return c.claimSegments(ctx, cp, Order{CouponID: couponID, UserID: userID, CreatedAt: now})
}

// claimSegment claims a unit of s for o, under the lock. ErrSoldOut means that s
// is empty.
func (c *Claims) claimSegment(ctx context.Context, s segment, o Order) (placed Order, err error) {
	lockCtx, span := c.tracer.Start(ctx, "lock")
	l, leave, err := c.acquire(lockCtx, o.UserID, s)
	if err != nil {
		endStep(span, err)
		if errors.Is(err, lock.ErrLocked) {
			err = ErrClaimInProgress
		}
		return Order{}, err
	}
	defer func() {
		leave()
		released := c.releaser.release(l, span)
		if isVerdict(err) {
			select { // a refused user may claim again at once, at another instance
			case <-released:
			case <-ctx.Done():
			}
		}
	}()
	return c.place(l.Context(), s, o)
}

// admit returns the coupon and the time of the claim once the prechecks have
// passed and the claim has a slot. A claim that is refused needs no slot.
func (c *Claims) admit(ctx context.Context, userID, couponID int64) (cp coupon.Coupon, now time.Time, err error) {
	if cp, now, err = c.find(ctx, userID, couponID); err != nil {
		return cp, now, err
	}
	_, span := c.tracer.Start(ctx, "slot")
	waited, err := c.slots.take(ctx, couponID)
	tracing.End(span, err)
	if err != nil || !waited {
		return cp, now, err
	}
	if cp, now, err = c.find(ctx, userID, couponID); err != nil { // it may be sold out by now
		c.slots.release(couponID)
	}
	return cp, now, err
}

// find returns the coupon if the prechecks pass now.
func (c *Claims) find(ctx context.Context, userID, couponID int64) (cp coupon.Coupon, now time.Time, err error) {
	now = time.Now().UTC().Truncate(time.Millisecond)
	couponCtx, span := c.tracer.Start(ctx, "coupon")
	cp, err = c.coupons.Find(couponCtx, couponID)
	endStep(span, err)
	if err != nil {
		return cp, now, err
	}
	gateCtx, span := c.tracer.Start(ctx, "gate")
	err = c.precheck(gateCtx, cp, userID, now)
	endStep(span, err)
	return cp, now, err
}

// precheck returns the verdict that needs no transaction, or nil. A user who
// has an order gets ErrAlreadyClaimed even if the coupon is sold out: the reply
// to the winning claim may have been lost.
func (c *Claims) precheck(ctx context.Context, cp coupon.Coupon, userID int64, now time.Time) error {
	err := cp.CheckOpen(now)
	if err != nil && !errors.Is(err, coupon.ErrSoldOut) {
		c.refused(GateWindow)
		return err
	}
	if orderID, found := c.winners.find(cp.ID, userID); found {
		c.refused(GateOrder)
		return &AlreadyClaimedError{OrderID: orderID}
	}
	if err == nil {
		return nil
	}
	gate, err := c.winners.checkSoldOut(ctx, cp, userID)
	if isVerdict(err) {
		c.refused(gate)
	}
	return err
}

// maxIDAttempts bounds how often a taken id is replaced. The id worker gives no
// id twice, except after the double faults that its package names.
const maxIDAttempts = 3

// place gives o an id and commits it, with a unit of s.
func (c *Claims) place(ctx context.Context, s segment, o Order) (Order, error) {
	var err error
	for attempt := 0; attempt == 0 || errors.Is(err, errIDTaken) && attempt < maxIDAttempts; attempt++ {
		if o.ID, err = c.nextID(ctx); err != nil {
			return Order{}, err
		}
		err = c.commit(ctx, s, o)
	}
	c.cacheOrder(o, err)
	if err != nil {
		return Order{}, err
	}
	return o, nil
}

func (c *Claims) nextID(ctx context.Context) (int64, error) {
	ctx, span := c.tracer.Start(ctx, "id")
	id, err := c.ids.Next(ctx)
	endStep(span, err)
	return id, err
}

func (c *Claims) commit(ctx context.Context, s segment, o Order) error {
	ctx, span := c.tracer.Start(ctx, "commit")
	err := c.strategy.Commit(ctx, s, o)
	endStep(span, err)
	return err
}

// cacheOrder notes the order that o's commit has made or found, for the prechecks
// of later claims.
func (c *Claims) cacheOrder(o Order, err error) {
	claimed, ok := errors.AsType[*AlreadyClaimedError](err)
	switch {
	case err == nil:
		c.winners.add(o.CouponID, o.UserID, o.ID)
	case ok:
		c.winners.add(o.CouponID, o.UserID, claimed.OrderID)
	}
}

// Slots returns the usage of the slots. A claim runs from its prechecks to its
// verdict.
func (c *Claims) Slots() SlotUsage { return c.slots.usage() }

// Overloaded reports whether Claim would return ErrOverloaded for a claim of the
// coupon that the prechecks do not refuse. It costs next to nothing, and the
// claim's user need not be known. Once a coupon is sold out, it is not overloaded.
func (c *Claims) Overloaded(ctx context.Context, couponID int64) bool {
	return c.slots.overloaded(ctx, couponID)
}

// Close returns nil when no transaction is running and all locks are released,
// or an error when ctx ends. A later Claim may return ErrUnavailable.
func (c *Claims) Close(ctx context.Context) error {
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		c.winners.close()
		c.strategy.Close()
		c.releaser.close()
	}()
	select {
	case <-closed:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("order: claims are still running: %w", context.Cause(ctx))
	}
}
