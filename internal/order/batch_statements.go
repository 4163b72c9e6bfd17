package order

import (
	"fmt"
	"slices"
	"strings"
)

// insertStatement returns the INSERT of an order for each claim.
func insertStatement(claims []*claim) (q string, args []any) {
	args = make([]any, 0, 4*len(claims)+3) // most often, those of decrementStatement follow
	for _, c := range claims {
		args = append(args, c.ID, c.CouponID, c.UserID, c.CreatedAt)
	}
	return `INSERT INTO coupon_orders (id, coupon_id, user_id, created_at) VALUES ` + placeholders("(?, ?, ?, ?)", len(claims)), args
}

// selectOrdersStatement returns the SELECT of the orders that the batch's users
// have for its coupons.
func (b *batch) selectOrdersStatement() (q string, args []any) {
	conditions := make([]string, len(b.parts))
	for i, p := range b.parts {
		conditions[i] = `coupon_id = ? AND user_id IN (` + placeholders("?", len(p.claims)) + `)`
		args = append(args, p.claims[0].CouponID)
		for _, c := range p.claims {
			args = append(args, c.UserID)
		}
	}
	return `SELECT id, coupon_id, user_id FROM coupon_orders WHERE ` + strings.Join(conditions, " OR "), args
}

// units is a number of units of a coupon.
type units struct {
	couponID int64
	n        int
}

// countUnits counts the claims of each coupon. Claims are sorted by coupon, and
// so is the result.
func countUnits(claims []*claim) (all []units) {
	for _, c := range claims {
		if len(all) == 0 || all[len(all)-1].couponID != c.CouponID {
			all = append(all, units{couponID: c.CouponID})
		}
		all[len(all)-1].n++
	}
	return all
}

// decrementStatement returns the UPDATE that decrements the stock of each coupon
// that has enough. The server locks the rows in the order of the key that the
// statement forces: two instances do not deadlock.
func decrementStatement(all []units) (q string, args []any) {
	n, nArgs := unitsExpression(all)
	q = fmt.Sprintf(`UPDATE coupons FORCE INDEX (PRIMARY) SET stock = stock - %s WHERE id IN (%s) AND stock >= %s`,
		n, placeholders("?", len(all)), n)
	args = slices.Clone(nArgs)
	for _, u := range all {
		args = append(args, u.couponID)
	}
	return q, append(args, nArgs...)
}

// unitsExpression returns the number of units of the row's coupon, in SQL.
// Coupons with the same number share a list, which the server searches by
// bisection.
func unitsExpression(all []units) (expression string, args []any) {
	byNumber := map[int][]any{}
	for _, u := range all {
		byNumber[u.n] = append(byNumber[u.n], u.couponID)
	}
	if len(byNumber) == 1 {
		return "?", []any{all[0].n}
	}
	var b strings.Builder
	b.WriteString("CASE")
	for n, ids := range byNumber {
		fmt.Fprintf(&b, " WHEN id IN (%s) THEN ?", placeholders("?", len(ids)))
		args = append(append(args, ids...), n)
	}
	b.WriteString(" END")
	return b.String(), args
}
