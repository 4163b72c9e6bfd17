package order

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jmoiron/sqlx"

	"example.com/flashsale/internal/coupon"
)

// A batch is the claims that share a transaction.
type batch struct {
	parts   []part
	claims  []*claim        // of all parts; those of a coupon in order of arrival
	won     []*claim        // have an order once the transaction is committed
	refused map[int64]error // the other claims' verdicts, by order id
}

// A part is the claims of one coupon in a batch.
type part struct {
	queue  *queue
	claims []*claim
}

func (b *batch) add(p part) {
	b.parts, b.claims = append(b.parts, p), append(b.claims, p.claims...)
}

// errStockElsewhere says that the stock that was read, with the row locked, is
// not the stock that is updated: a proxy has sent the read to another server.
var errStockElsewhere = errors.New("stock was read from another server")

// errNothingWon ends a transaction that has nothing to commit.
var errNothingWon = errors.New("nothing won")

// apply inserts the orders, then decrements the stocks. All instances contend
// for the coupons' rows; in this order they are locked only until the commit.
func (b *batch) apply(ctx context.Context, conn *sqlx.Conn) error {
	b.won, b.refused = nil, map[int64]error{}
	inserted, err := b.insertOrders(ctx, conn)
	if err != nil {
		return err
	}
	b.won, err = b.decrementStocks(ctx, conn, inserted)
	if err == nil && len(b.won) == 0 {
		return errNothingWon
	}
	return err
}

// insertOrders inserts an order for each claim whose user has none, and returns
// those claims.
func (b *batch) insertOrders(ctx context.Context, conn *sqlx.Conn) (inserted []*claim, err error) {
	q, args := insertStatement(sortByKey(b.claims))
	q += ` ON DUPLICATE KEY UPDATE id = id` // INSERT IGNORE would ignore every other error as well
	result, err := conn.ExecContext(ctx, q, args...)
	if err != nil {
		return nil, fmt.Errorf("insert orders: %w", err)
	}
	if n, err := result.RowsAffected(); err != nil || int(n) == len(b.claims) {
		return b.claims, err
	}
	return b.splitDuplicates(ctx, conn)
}

// splitDuplicates returns the claims whose orders were inserted, and refuses
// those whose user or id had an order already.
func (b *batch) splitDuplicates(ctx context.Context, conn *sqlx.Conn) (inserted []*claim, err error) {
	q, args := b.selectOrdersStatement()
	var orders []Order
	if err := conn.SelectContext(ctx, &orders, q, args...); err != nil {
		return nil, fmt.Errorf("select orders: %w", err)
	}
	type key struct{ couponID, userID int64 }
	orderIDs := make(map[key]int64, len(orders))
	for _, o := range orders {
		orderIDs[key{o.CouponID, o.UserID}] = o.ID
	}
	for _, c := range b.claims {
		switch id, found := orderIDs[key{c.CouponID, c.UserID}]; {
		case !found:
			b.refused[c.ID] = errIDTaken
		case id != c.ID:
			b.refused[c.ID] = &AlreadyClaimedError{OrderID: id}
		default:
			inserted = append(inserted, c)
		}
	}
	return inserted, nil
}

// decrementStocks takes one unit for each inserted claim. If a segment does not
// cover them all, its earliest claims win; the others are refused and their
// orders deleted.
func (b *batch) decrementStocks(ctx context.Context, conn *sqlx.Conn, inserted []*claim) (won []*claim, err error) {
	if len(inserted) == 0 {
		return nil, nil
	}
	left, err := lockStocks(ctx, conn, inserted)
	if err != nil {
		return nil, err
	}
	var late []*claim
	for _, c := range inserted {
		if left[c.segment] > 0 {
			left[c.segment]--
			won = append(won, c)
		} else {
			late = append(late, c)
		}
	}
	b.refuse(late)
	if len(won) == 0 {
		return nil, nil // the rollback removes their orders
	}
	if err := deleteOrders(ctx, conn, late); err != nil {
		return nil, err
	}
	for _, units := range countUnits(won) {
		q, args := decrementStatement(units)
		changed, err := updateStock(ctx, conn, q, args...)
		if err != nil {
			return nil, err
		}
		if int(changed) != len(units) {
			return nil, errStockElsewhere
		}
	}
	return won, nil
}

// lockStocks locks the rows of the claims' segments, in the order in which all
// batches lock them, and returns their stocks.
func lockStocks(ctx context.Context, conn *sqlx.Conn, claims []*claim) (map[segment]int, error) {
	stocks := map[segment]int{}
	for _, units := range countUnits(claims) {
		var rows []struct {
			CouponID int64 `db:"coupon_id"`
			Segment  int
			Stock    int
		}
		q, args := lockStatement(units)
		if err := conn.SelectContext(ctx, &rows, q, args...); err != nil {
			return nil, fmt.Errorf("select stocks: %w", err)
		}
		for _, r := range rows {
			stocks[segment{r.CouponID, r.Segment}] = r.Stock
		}
	}
	return stocks, nil
}

// refuse marks the late claims sold out, and also the duplicates that refer to
// their orders.
func (b *batch) refuse(late []*claim) {
	deleted := make(map[int64]bool, len(late))
	for _, c := range late {
		b.refused[c.ID], deleted[c.ID] = coupon.ErrSoldOut, true
	}
	for id, err := range b.refused {
		if duplicate, ok := errors.AsType[*AlreadyClaimedError](err); ok && deleted[duplicate.OrderID] {
			b.refused[id] = coupon.ErrSoldOut
		}
	}
}

// deleteOrders deletes the orders of claims. The join looks each up by its id. For
// WHERE id IN (…) the server scans a small table, and waits for the orders of the
// batches that wait for this one: a deadlock.
func deleteOrders(ctx context.Context, conn *sqlx.Conn, claims []*claim) error {
	if len(claims) == 0 {
		return nil
	}
	ids := make([]any, len(claims))
	for i, c := range claims {
		ids[i] = c.ID
	}
	late := `SELECT ? AS id` + strings.Repeat(` UNION ALL SELECT ?`, len(ids)-1)
	q := `DELETE o FROM (` + late + `) late STRAIGHT_JOIN coupon_orders o ON o.id = late.id`
	if _, err := conn.ExecContext(ctx, q, ids...); err != nil {
		return fmt.Errorf("delete orders: %w", err)
	}
	return nil
}

// sortByKey returns claims sorted by the unique key, so that the batches of two
// instances wait for each other instead of deadlocking.
func sortByKey(claims []*claim) []*claim {
	sorted := slices.Clone(claims)
	slices.SortStableFunc(sorted, func(x, y *claim) int {
		return cmp.Or(cmp.Compare(x.CouponID, y.CouponID), cmp.Compare(x.UserID, y.UserID))
	})
	return sorted
}

// placeholders returns n copies of item, separated by commas.
func placeholders(item string, n int) string {
	return strings.Repeat(item+",", n-1) + item
}
