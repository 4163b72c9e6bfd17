package commit

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jmoiron/sqlx"

	"example.com/flashsale/internal/order"
)

// insertStatement returns the INSERT of orders.
func insertStatement(orders ...*pending) (q string, args []any) {
	args = make([]any, 0, 7*len(orders)+3) // most often, those of decrementStatement follow
	for _, p := range orders {
		args = append(args, p.ID, p.CouponID, p.UserID, p.Number, p.CreatedAt, p.ExpiresAt, p.ShardKey)
	}
	q = `INSERT INTO coupon_orders (` + order.InsertColumns + `) VALUES `
	return q + placeholders("(?, ?, ?, ?, ?, ?, ?)", len(orders)), args
}

// holdsStatement returns the INSERT of the times at which orders expire, or "" if none
// does.
func holdsStatement(orders ...*pending) (q string, args []any) {
	for _, p := range orders {
		if p.ExpiresAt != nil {
			_, key := p.Shard()
			args = append(args, *p.ExpiresAt, p.ID, key)
		}
	}
	if len(args) == 0 {
		return "", nil
	}
	q = `INSERT INTO coupon_holds (` + order.HoldColumns + `) VALUES `
	return q + placeholders("(?, ?, ?)", len(args)/3), args
}

// insertHolds executes the statement of holdsStatement.
func insertHolds(ctx context.Context, conn *sqlx.Conn, orders ...*pending) error {
	q, args := holdsStatement(orders...)
	if q == "" {
		return nil
	}
	if _, err := conn.ExecContext(ctx, q, args...); err != nil {
		return fmt.Errorf("insert holds: %w", err)
	}
	return nil
}

// selectOrdersStatement returns the SELECT of the orders that the batch's users
// have for its coupons.
func (b *batch) selectOrdersStatement() (q string, args []any) {
	conditions := make([]string, len(b.parts))
	for i, p := range b.parts {
		column, key := p.orders[0].Shard()
		users := placeholders("?", len(p.orders))
		conditions[i] = `coupon_id = ? AND ` + column + ` = ? AND user_id IN (` + users + `)`
		args = append(args, p.queue.of.CouponID, key)
		for _, o := range p.orders {
			args = append(args, o.UserID)
		}
	}
	return `SELECT ` + order.InsertColumns + ` FROM coupon_orders WHERE ` + strings.Join(conditions, " OR "), args
}

// units is a number of units of a segment.
type units struct {
	order.Segment
	n int
}

// countUnits counts the orders of each segment. It returns a slice for each table,
// in the order in which all transactions lock the rows.
func countUnits(orders []*pending) (byTable [][]units) {
	sorted := slices.Clone(orders)
	slices.SortFunc(sorted, func(x, y *pending) int { return x.segment.Compare(y.segment) })
	var all []units
	for _, p := range sorted {
		if len(all) == 0 || all[len(all)-1].Segment != p.segment {
			all = append(all, units{Segment: p.segment})
		}
		all[len(all)-1].n++
	}
	split := slices.IndexFunc(all, func(u units) bool { return u.Number > 0 })
	if split <= 0 {
		return [][]units{all}
	}
	return [][]units{all[:split], all[split:]}
}

// lockStatement returns the SELECT that locks the rows of segments.
func lockStatement(all []units) (q string, args []any) {
	rows, args := rowsOf(segments(all)...)
	if all[0].Number == 0 {
		return `SELECT id AS coupon_id, 0 AS segment, stock FROM coupons FORCE INDEX (PRIMARY) WHERE ` + rows +
			` ORDER BY id FOR UPDATE`, args
	}
	return `SELECT coupon_id, segment, stock FROM coupon_segments FORCE INDEX (PRIMARY) WHERE ` + rows +
		` ORDER BY coupon_id, segment FOR UPDATE`, args
}

// decrementStatement returns the UPDATE that decrements the stock of each segment
// that has enough. The server locks the rows in the order of the key that the
// statement forces: two instances do not deadlock.
func decrementStatement(all []units) (q string, args []any) {
	n, nArgs := unitsExpression(all)
	rows, rowArgs := rowsOf(segments(all)...)
	q = fmt.Sprintf(`UPDATE %s FORCE INDEX (PRIMARY) SET stock = stock - %s WHERE %s AND stock >= %s`,
		table(all[0].Segment), n, rows, n)
	return q, slices.Concat(nArgs, rowArgs, nArgs)
}

// unitsExpression returns the number of units of the row's order.Segment, in SQL.
// Segments with the same number share a list, which the server searches by
// bisection.
func unitsExpression(all []units) (expression string, args []any) {
	byNumber := map[int][]order.Segment{}
	for _, u := range all {
		byNumber[u.n] = append(byNumber[u.n], u.Segment)
	}
	if len(byNumber) == 1 {
		return "?", []any{all[0].n}
	}
	var b strings.Builder
	b.WriteString("CASE")
	for n, segments := range byNumber {
		rows, rowArgs := rowsOf(segments...)
		fmt.Fprintf(&b, " WHEN %s THEN ?", rows)
		args = append(append(args, rowArgs...), n)
	}
	b.WriteString(" END")
	return b.String(), args
}

func segments(all []units) []order.Segment {
	s := make([]order.Segment, len(all))
	for i, u := range all {
		s[i] = u.Segment
	}
	return s
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
