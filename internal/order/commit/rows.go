package commit

import (
	"strings"

	"example.com/flashsale/internal/order"
)

// table returns the table that has the segment's row.
func table(s order.Segment) string {
	if s.Number == 0 {
		return "coupons"
	}
	return "coupon_segments"
}

// rowsOf returns the SQL condition that selects the rows of segments, which are
// in one table. Those of a coupon are next to each other; on a sharded database there is one.
func rowsOf(segments ...order.Segment) (condition string, args []any) {
	if segments[0].Number == 0 {
		for _, s := range segments {
			args = append(args, s.CouponID)
		}
		return `id IN (` + placeholders("?", len(segments)) + `)`, args
	}
	var conditions []string
	for len(segments) > 0 {
		couponID, n := segments[0].CouponID, 0
		args = append(args, couponID)
		for ; n < len(segments) && segments[n].CouponID == couponID; n++ {
			args = append(args, segments[n].Number)
		}
		condition := `coupon_id = ? AND segment IN (` + placeholders("?", n) + `)`
		if segments[0].Sharded {
			condition, args = condition+` AND shard_key = ?`, append(args, segments[0].ShardKey())
		}
		conditions = append(conditions, condition)
		segments = segments[n:]
	}
	return `(` + strings.Join(conditions, " OR ") + `)`, args
}

// placeholders returns n copies of item, separated by commas.
func placeholders(item string, n int) string {
	return strings.Repeat(item+",", n-1) + item
}
