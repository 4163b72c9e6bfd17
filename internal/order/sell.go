package order

import (
	"context"
	"errors"

	"example.com/flashsale/internal/coupon"
)

// sell sells a unit of the user's segment of cp to o. When that is empty, stock moves to
// it from another one. It returns ErrSoldOut if all segments were empty at one instant.
func (c *Claims) sell(ctx context.Context, cp coupon.Coupon, o Order) (Order, error) {
	s := OwnSegment(cp, o.UserID)
	for {
		placed, err := c.sellLocked(ctx, cp, s, o)
		if errors.Is(err, coupon.ErrSoldOut) && cp.Segments > 1 {
			if _, err = c.refills.Read(ctx, s, o.UserID); err == nil {
				continue
			}
		}
		if errors.Is(err, coupon.ErrSoldOut) {
			c.cfg.Coupons.MarkSoldOut(cp)
			if cp.Segments > 1 {
				err = c.confirmSoldOut(ctx, cp, o.Claimant)
			}
		}
		return placed, err
	}
}

// sellLocked places o, with a unit of s, under the lock. ErrSoldOut means that s
// is empty.
func (c *Claims) sellLocked(ctx context.Context, cp coupon.Coupon, s Segment, o Order) (placed Order, err error) {
	l, release, err := c.acquire(ctx, o.UserID, s)
	if err != nil {
		return Order{}, err
	}
	defer func() {
		released := release()
		if isVerdict(err) {
			select { // a refused user may claim again at once, at another instance
			case <-released:
			case <-ctx.Done():
			}
		}
	}()
	placed, err = c.place(l.Context(), cp, s, o)
	if errors.Is(err, coupon.ErrSoldOut) && cp.Segments <= 1 { // now: after the release, ctx may have ended
		err = c.confirmSoldOut(l.Context(), cp, o.Claimant)
	}
	return placed, err
}

// confirmSoldOut returns the verdict on a claim that has found no stock:
// coupon.ErrSoldOut, or an *AlreadyClaimedError if the last unit went to another
// claim of the same user, which the lock has not kept out. The claim's transaction
// may have begun before that order was committed.
func (c *Claims) confirmSoldOut(ctx context.Context, cp coupon.Coupon, by Claimant) error {
	if _, err := c.cfg.Winners.CheckSoldOut(ctx, cp, by); err != nil {
		return err
	}
	return coupon.ErrSoldOut // restocked meanwhile
}

// maxIDAttempts bounds how often a taken id is replaced. The id worker gives no
// id twice, except after the double faults that its package names.
const maxIDAttempts = 3

// place gives o an id and commits it, with a unit of s.
func (c *Claims) place(ctx context.Context, cp coupon.Coupon, s Segment, o Order) (Order, error) {
	var err error
	for attempt := 0; attempt == 0 || errors.Is(err, ErrIDTaken) && attempt < maxIDAttempts; attempt++ {
		err = c.step(ctx, "id", func(ctx context.Context) (err error) { o.ID, err = c.cfg.IDs.Next(ctx); return err })
		if err != nil {
			return Order{}, err
		}
		err = c.step(ctx, "commit", func(ctx context.Context) error { return c.cfg.Committer.Commit(ctx, s, o) })
	}
	c.remember(cp, o, err)
	if err != nil {
		return Order{}, err
	}
	return o, nil
}

// remember notes the order that o's commit has made or found, for the prechecks
// of later claims.
func (c *Claims) remember(cp coupon.Coupon, o Order, err error) {
	claimed, ok := errors.AsType[*AlreadyClaimedError](err)
	switch {
	case err == nil:
		c.cfg.Winners.Add(cp, o.Claimant, o.ID)
	case ok:
		c.cfg.Winners.Add(cp, o.Claimant, claimed.OrderID)
	}
}
