package order

import (
	"context"
	"errors"
	"time"

	"example.com/flashsale/internal/coupon"
	"example.com/flashsale/internal/transaction"
)

// A Segment is a part of a coupon's stock, in a row of its own. Segment 0 is the
// row of table coupons, and all the stock of a coupon that is not split. The
// others are rows of table coupon_segments.
type Segment struct {
	CouponID int64
	Number   int
}

// segmentFor returns the segment of cp that a claim of the user is for: the
// user's own, or another one that had stock if the user's own had none when cp
// was read. Only the claim's transaction decides whether a segment is empty.
func segmentFor(cp coupon.Coupon, userID int64) Segment {
	if cp.Segments <= 1 {
		return Segment{cp.ID, 0}
	}
	h := hash(userID)
	own := int(h % uint64(cp.Segments))
	if cp.HasStock(own) {
		return Segment{cp.ID, own}
	}
	var stocked []int
	for n := range cp.Segments {
		if cp.HasStock(n) {
			stocked = append(stocked, n)
		}
	}
	if len(stocked) == 0 {
		return Segment{cp.ID, own}
	}
	return Segment{cp.ID, stocked[h>>32%uint64(len(stocked))]}
}

// hash is the finalizer of MurmurHash3. User ids may have a stride, so their
// remainder alone would leave segments without users.
func hash(userID int64) uint64 {
	h := uint64(userID)
	h = (h ^ h>>33) * 0xff51afd7ed558ccd
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}

// sell sells a unit of the user's segment of cp to o. While that segment is empty
// and the coupon has stock, it sells from another one. It returns ErrSoldOut if
// one read has found all segments empty.
func (c *Claims) sell(ctx context.Context, cp coupon.Coupon, o Order) (Order, error) {
	s := segmentFor(cp, o.UserID)
	for {
		placed, err := c.sellLocked(ctx, cp, s, o)
		if !errors.Is(err, coupon.ErrSoldOut) {
			return placed, err
		}
		if cp.Segments <= 1 {
			c.coupons.MarkSoldOut(cp)
			return Order{}, err
		}
		if cp, err = c.coupons.Reload(ctx, cp.ID); err != nil {
			return Order{}, err
		}
		if cp.Stock < 1 {
			return Order{}, c.confirmSoldOut(ctx, cp, o.UserID)
		}
		empty := s
		if s = segmentFor(cp, o.UserID); s == empty {
			if err := transaction.Pause(ctx, stalePause); err != nil {
				return Order{}, err
			}
		}
	}
}

// confirmSoldOut returns the verdict on a claim that has found no stock:
// coupon.ErrSoldOut, or an *AlreadyClaimedError if the last unit went to another
// claim of the same user, which the lock has not kept out. The claim's transaction
// may have begun before that order was committed.
func (c *Claims) confirmSoldOut(ctx context.Context, cp coupon.Coupon, userID int64) error {
	if _, err := c.winners.CheckSoldOut(ctx, cp, userID); err != nil {
		return err
	}
	return coupon.ErrSoldOut // restocked meanwhile
}

// stalePause is the time between two attempts to sell from a segment that is
// empty, but not in what was read: it has just been restocked, or a replica lags.
const stalePause = 20 * time.Millisecond
