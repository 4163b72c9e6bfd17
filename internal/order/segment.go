package order

import (
	"example.com/flashsale/internal/coupon"
)

// A Segment is a part of a coupon's stock, in a row of its own. Segment 0 is the
// row of table coupons, and all the stock of a coupon that is not split. The
// others are rows of table coupon_segments.
type Segment struct {
	CouponID int64
	Number   int
}

// OwnSegment returns the segment of cp to which a unit goes that the user gives back.
func OwnSegment(cp coupon.Coupon, userID int64) Segment {
	if cp.Segments <= 1 {
		return Segment{cp.ID, 0}
	}
	return Segment{cp.ID, int(hash(userID) % uint64(cp.Segments))}
}

// segmentFor returns the segment of cp that a claim of the user is for: the
// user's own, or another one that had stock if the user's own had none when cp
// was read. Only the claim's transaction decides whether a segment is empty.
func segmentFor(cp coupon.Coupon, userID int64) Segment {
	own := OwnSegment(cp, userID)
	if cp.Segments <= 1 || cp.HasStock(own.Number) {
		return own
	}
	var stocked []int
	for n := range cp.Segments {
		if cp.HasStock(n) {
			stocked = append(stocked, n)
		}
	}
	if len(stocked) == 0 {
		return own
	}
	return Segment{cp.ID, stocked[hash(userID)>>32%uint64(len(stocked))]}
}

// hash is the finalizer of MurmurHash3. User ids may have a stride, so their
// remainder alone would leave segments without users.
func hash(userID int64) uint64 {
	h := uint64(userID)
	h = (h ^ h>>33) * 0xff51afd7ed558ccd
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}
