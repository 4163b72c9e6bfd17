package order

import (
	"context"
	"errors"
	"strings"
	"time"

	"example.com/flashsale/internal/coupon"
	"example.com/flashsale/internal/transaction"
)

// A segment is a part of a coupon's stock, in a row of its own. Segment 0 is the
// row of table coupons, and all the stock of a coupon that is not split. The
// others are rows of table coupon_segments.
type segment struct {
	couponID int64
	number   int
}

// segmentFor returns the segment of cp that a claim of the user is for: the
// user's own, or another one that had stock if the user's own had none when cp
// was read. Only the claim's transaction decides whether a segment is empty.
func segmentFor(cp coupon.Coupon, userID int64) segment {
	if cp.Segments <= 1 {
		return segment{cp.ID, 0}
	}
	h := hash(userID)
	own := int(h % uint64(cp.Segments))
	if cp.HasStock(own) {
		return segment{cp.ID, own}
	}
	var stocked []int
	for n := range cp.Segments {
		if cp.HasStock(n) {
			stocked = append(stocked, n)
		}
	}
	if len(stocked) == 0 {
		return segment{cp.ID, own}
	}
	return segment{cp.ID, stocked[h>>32%uint64(len(stocked))]}
}

// hash is the finalizer of MurmurHash3. User ids may have a stride, so their
// remainder alone would leave segments without users.
func hash(userID int64) uint64 {
	h := uint64(userID)
	h = (h ^ h>>33) * 0xff51afd7ed558ccd
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}

// claimSegments claims a unit for o in the user's segment of cp. While that
// segment is empty and the coupon has stock, it claims in another one. It returns
// ErrSoldOut if one read has found all segments empty.
func (c *Claims) claimSegments(ctx context.Context, cp coupon.Coupon, o Order) (Order, error) {
	s := segmentFor(cp, o.UserID)
	for {
		placed, err := c.claimSegment(ctx, s, o)
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
			return Order{}, coupon.ErrSoldOut
		}
		empty := s
		if s = segmentFor(cp, o.UserID); s == empty {
			if err := transaction.Pause(ctx, stalePause); err != nil {
				return Order{}, err
			}
		}
	}
}

// stalePause is the time between two claims in a segment that is empty, but not in
// what was read: it has just been restocked, or a replica lags.
const stalePause = 20 * time.Millisecond

// table returns the table that has the segment's row.
func (s segment) table() string {
	if s.number == 0 {
		return "coupons"
	}
	return "coupon_segments"
}

// rowsOf returns the SQL condition that selects the rows of segments, which are
// in one table. Those of a coupon are next to each other.
func rowsOf(segments ...segment) (condition string, args []any) {
	if segments[0].number == 0 {
		for _, s := range segments {
			args = append(args, s.couponID)
		}
		return `id IN (` + placeholders("?", len(segments)) + `)`, args
	}
	var conditions []string
	for len(segments) > 0 {
		couponID, n := segments[0].couponID, 0
		args = append(args, couponID)
		for ; n < len(segments) && segments[n].couponID == couponID; n++ {
			args = append(args, segments[n].number)
		}
		conditions = append(conditions, `coupon_id = ? AND segment IN (`+placeholders("?", n)+`)`)
		segments = segments[n:]
	}
	return `(` + strings.Join(conditions, " OR ") + `)`, args
}
