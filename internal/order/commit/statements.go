package commit

import (
	"cmp"
	"slices"
	"strings"

	"example.com/flashsale/internal/order"
	"example.com/flashsale/internal/transaction"
)

// insertStatement returns the INSERT of orders.
func insertStatement(orders ...*pending) transaction.Statement {
	args := make([]any, 0, 7*len(orders)+3) // most often, those of one decrementStatement follow
	for _, p := range orders {
		args = append(args, p.ID, p.CouponID, p.UserID, p.Number, p.CreatedAt, p.ExpiresAt, p.ShardKey)
	}
	q := `INSERT INTO coupon_orders (` + order.InsertColumns + `) VALUES `
	return transaction.Statement{SQL: q + placeholders("(?, ?, ?, ?, ?, ?, ?)", len(orders)), Args: args}
}

// holdsStatement returns the INSERT of the times at which orders expire, or none if none
// does.
func holdsStatement(orders ...*pending) transaction.Statement {
	var args []any
	for _, p := range orders {
		if p.ExpiresAt != nil {
			_, key := p.Shard()
			args = append(args, *p.ExpiresAt, p.ID, key)
		}
	}
	if len(args) == 0 {
		return transaction.Statement{}
	}
	q := `INSERT INTO coupon_holds (` + order.HoldColumns + `) VALUES `
	return transaction.Statement{SQL: q + placeholders("(?, ?, ?)", len(args)/3), Args: args}
}

// selectOrdersStatement returns the SELECT of the orders that the batch's users
// have for its coupons.
func (b *batch) selectOrdersStatement() (q string, args []any) {
	conditions := make([]string, len(b.parts))
	for i, p := range b.parts {
		column, key := p.orders[0].Shard()
		users := placeholders("?", len(p.orders))
		conditions[i] = `coupon_id = ? AND ` + column + ` = ? AND user_id IN (` + users + `)`
		args = append(args, p.queue.segment.CouponID, key)
		for _, o := range p.orders {
			args = append(args, o.UserID)
		}
	}
	return `SELECT ` + order.InsertColumns + ` FROM coupon_orders WHERE ` + strings.Join(conditions, " OR "), args
}

// sortByKey returns orders sorted by the unique key, so that the batches of two
// instances wait for each other instead of deadlocking.
func sortByKey(orders []*pending) []*pending {
	sorted := slices.Clone(orders)
	slices.SortStableFunc(sorted, func(x, y *pending) int {
		return cmp.Or(cmp.Compare(x.CouponID, y.CouponID), cmp.Compare(x.UserID, y.UserID),
			cmp.Compare(x.Number, y.Number))
	})
	return sorted
}

// placeholders returns n copies of item, separated by commas.
func placeholders(item string, n int) string {
	return strings.Repeat(item+",", n-1) + item
}
