package order

import (
	"cmp"
	"slices"

	"example.com/flashsale/internal/coupon"
	"example.com/flashsale/internal/transaction"
)

// A Segment is a part of a coupon's stock, in a row of its own. Segment 0 is the
// row of table coupons, and all the stock of a coupon that is not split. The
// others are rows of table coupon_segments.
type Segment struct {
	CouponID int64
	Number   int
	Sharded  bool // the database finds its rows by its ShardKey
}

// ShardKey is coupon.ShardKey of s.
func (s Segment) ShardKey() int64 { return coupon.ShardKey(s.CouponID, s.Number) }

// Row returns the table that has the row of s, and the condition that selects it there.
func (s Segment) Row() (table, condition string, args []any) {
	switch {
	case s.Number == 0:
		return "coupons", `id = ?`, []any{s.CouponID}
	case s.Sharded:
		return "coupon_segments", `coupon_id = ? AND segment = ? AND shard_key = ?`,
			[]any{s.CouponID, s.Number, s.ShardKey()}
	}
	return "coupon_segments", `coupon_id = ? AND segment = ?`, []any{s.CouponID, s.Number}
}

// Update returns the UPDATE that sets columns of the row of s, on a condition.
func (s Segment) Update(columns string, values []any, condition string, args ...any) transaction.Statement {
	table, row, rowArgs := s.Row()
	return transaction.Statement{
		SQL:  `UPDATE ` + table + ` SET ` + columns + ` WHERE ` + row + ` AND ` + condition,
		Args: slices.Concat(values, rowArgs, args),
	}
}

// Compare orders segments as all transactions lock their rows: table coupons before
// coupon_segments, and each in the order of its key.
func (s Segment) Compare(t Segment) int {
	return cmp.Or(cmp.Compare(min(s.Number, 1), min(t.Number, 1)), cmp.Compare(s.CouponID, t.CouponID),
		cmp.Compare(s.Number, t.Number))
}

// OwnSegment returns the segment of cp of which the user gets a unit, and to which it goes
// back.
func OwnSegment(cp coupon.Coupon, userID int64) Segment {
	if cp.Segments <= 1 {
		return Segment{CouponID: cp.ID}
	}
	return Segment{CouponID: cp.ID, Number: int(hash(userID) % uint64(cp.Segments))}
}

// hash is the finalizer of MurmurHash3. User ids may have a stride, so their
// remainder alone would leave segments without users.
func hash(userID int64) uint64 {
	h := uint64(userID)
	h = (h ^ h>>33) * 0xff51afd7ed558ccd
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}
