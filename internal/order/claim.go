package order

import (
	"context"
	"errors"
	"fmt"
	"time"

	"example.com/flashsale/internal/admission"
	"example.com/flashsale/internal/admission/slots"
	"example.com/flashsale/internal/batchread"
	"example.com/flashsale/internal/coupon"
	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/observe/tracing"
)

// Claims processes claims. It is safe for concurrent use, and any number of
// instances may process claims on one database.
type Claims struct {
	cfg      Config
	slots    *slots.Slots
	refills  *batchread.Reader[Segment, int64, struct{}] // by user
	options  lock.Options
	releaser releaser
}

// Claim places an order for one coupon, and returns it once it is durable.
// Otherwise the error is a verdict of this package or of package coupon, or
// admission.ErrOverloaded, or wraps ErrUnavailable if the outcome is not known
// when ctx ends.
func (c *Claims) Claim(ctx context.Context, by Claimant, couponID int64) (Order, error) {
	o, err := c.decide(ctx, by, couponID)
	if err != nil && !isVerdict(err) && !isMistake(err) && !errors.Is(err, admission.ErrOverloaded) {
		err = fmt.Errorf("%w: claim of coupon %d for user %d: %w", ErrUnavailable, couponID, by.UserID, err)
	}
	return o, err
}

// isMistake reports whether err is a wrong use of the lock by this package.
func isMistake(err error) bool {
	return errors.Is(err, lock.ErrReentry) || errors.Is(err, lock.ErrInvalid)
}

// decide sells a unit of the coupon, once the prechecks have passed and the claim
// has a slot. A claim that a precheck refuses needs no slot.
func (c *Claims) decide(ctx context.Context, by Claimant, couponID int64) (Order, error) {
	cp, now, err := c.findOpen(ctx, by, couponID)
	if err != nil {
		return Order{}, err
	}
	waited, err := c.awaitSlot(ctx, couponID)
	if err != nil {
		return Order{}, err
	}
	defer c.slots.Release(couponID)
	if waited { // the coupon may be sold out by now
		if cp, now, err = c.findOpen(ctx, by, couponID); err != nil {
			return Order{}, err
		}
	}
	return c.sell(ctx, cp, newOrder(cp, by, now))
}

// newOrder returns the order of a claim that was made at now, without an id.
func newOrder(cp coupon.Coupon, by Claimant, now time.Time) Order {
	o := Order{CouponID: cp.ID, Claimant: by, CreatedAt: now, State: Claimed}
	if hold := cp.Hold(); hold > 0 {
		end := now.Add(hold)
		o.ExpiresAt = &end
	}
	return o
}

func (c *Claims) awaitSlot(ctx context.Context, couponID int64) (waited bool, err error) {
	_, span := c.cfg.Tracer.Start(ctx, "slot")
	if waited, err = c.slots.Acquire(ctx, couponID); err != nil {
		err = admission.WaitedInVain(ctx, err)
	}
	tracing.End(span, err)
	return waited, err
}

// Slots returns the usage of the slots. A claim runs from its prechecks to its
// verdict.
func (c *Claims) Slots() slots.Usage { return c.slots.Usage() }

// Overloaded reports whether Claim would return admission.ErrOverloaded at once for a
// claim of the coupon that the prechecks do not refuse. It costs next to nothing,
// and the claim's user need not be known. Once a coupon is sold out, it is not
// overloaded.
func (c *Claims) Overloaded(couponID int64) bool { return c.slots.Overloaded(couponID) }

// Close closes the Winners and the Committer. It returns nil when no transaction is running
// that has outlived its claim, and the locks of all claims that have ended are released, or an
// error when ctx ends. A query that several claims shared, or a refill, may still run. A later
// Claim may return ErrUnavailable.
func (c *Claims) Close(ctx context.Context) error {
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		c.cfg.Winners.Close()
		c.cfg.Committer.Close()
		c.releaser.close()
	}()
	select {
	case <-closed:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("order: claims are still running: %w", context.Cause(ctx))
	}
}
