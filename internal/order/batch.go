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

// A batch is the claims of one coupon that share a transaction.
type batch struct {
	couponID int64
	claims   []*claim        // in order of arrival
	won      []*claim        // have an order once the transaction is committed
	refused  map[int64]error // the other claims' verdicts, by order id
}

// errStockElsewhere says that the stock that was read, with the row locked, is
// not the stock that is updated: a proxy has sent the read to another server.
var errStockElsewhere = errors.New("stock was read from another server")

// errNothingWon ends a transaction that has nothing to commit.
var errNothingWon = errors.New("nothing won")

// apply inserts the orders, then decrements the stock. All instances contend
// for the coupon's row; in this order it is locked only for the update and the
// commit.
func (b *batch) apply(ctx context.Context, conn *sqlx.Conn) error {
	b.won, b.refused = nil, map[int64]error{}
	inserted, err := b.insertOrders(ctx, conn)
	if err != nil {
		return err
	}
	b.won, err = b.decrementStock(ctx, conn, inserted)
	if err == nil && len(b.won) == 0 {
		return errNothingWon
	}
	return err
}

// insertOrders inserts an order for each claim whose user has none, and returns
// those claims.
func (b *batch) insertOrders(ctx context.Context, conn *sqlx.Conn) (inserted []*claim, err error) {
	q, args := b.insertStatement()
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

// insertStatement returns the INSERT of an order for each claim. Its rows are
// sorted by the unique key, so that the batches of two instances wait for each
// other instead of deadlocking.
func (b *batch) insertStatement() (q string, args []any) {
	rows := slices.Clone(b.claims)
	slices.SortStableFunc(rows, func(x, y *claim) int { return cmp.Compare(x.UserID, y.UserID) })
	args = make([]any, 0, 4*len(rows)+3) // singleRoundTrip appends three
	for _, c := range rows {
		args = append(args, c.ID, c.CouponID, c.UserID, c.CreatedAt)
	}
	return `INSERT INTO coupon_orders (id, coupon_id, user_id, created_at) VALUES ` + placeholders("(?, ?, ?, ?)", len(rows)), args
}

// splitDuplicates returns the claims whose orders were inserted, and refuses
// those whose user or id had an order already.
func (b *batch) splitDuplicates(ctx context.Context, conn *sqlx.Conn) (inserted []*claim, err error) {
	args := make([]any, 0, len(b.claims)+1)
	args = append(args, b.couponID)
	for _, c := range b.claims {
		args = append(args, c.UserID)
	}
	q := `SELECT id, user_id FROM coupon_orders WHERE coupon_id = ? AND user_id IN (` + placeholders("?", len(b.claims)) + `)`
	var orders []Order
	if err := conn.SelectContext(ctx, &orders, q, args...); err != nil {
		return nil, fmt.Errorf("select orders: %w", err)
	}
	orderIDs := make(map[int64]int64, len(orders)) // by user
	for _, o := range orders {
		orderIDs[o.UserID] = o.ID
	}
	for _, c := range b.claims {
		switch id, found := orderIDs[c.UserID]; {
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

// decrementStock takes one unit for each inserted claim. If the stock does not
// cover them all, the earliest claims win; the others are refused and their
// orders deleted.
func (b *batch) decrementStock(ctx context.Context, conn *sqlx.Conn, inserted []*claim) (won []*claim, err error) {
	const q = `UPDATE coupons SET stock = stock - ? WHERE id = ? AND stock >= ?`
	if len(inserted) == 0 {
		return nil, nil
	}
	changed, err := updateStock(ctx, conn, q, len(inserted), b.couponID, len(inserted))
	if err != nil || changed == 1 {
		return inserted, err
	}
	var left int
	if err := conn.GetContext(ctx, &left, `SELECT stock FROM coupons WHERE id = ? FOR UPDATE`, b.couponID); err != nil {
		return nil, fmt.Errorf("select stock: %w", err)
	}
	left = min(max(0, left), len(inserted))
	won, late := inserted[:left], inserted[left:]
	b.refuse(late)
	if left == 0 {
		return nil, nil // the rollback removes their orders
	}
	if err := deleteOrders(ctx, conn, late); err != nil {
		return nil, err
	}
	changed, err = updateStock(ctx, conn, q, left, b.couponID, left)
	if err == nil && changed != 1 {
		return nil, errStockElsewhere
	}
	return won, err
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

func deleteOrders(ctx context.Context, conn *sqlx.Conn, claims []*claim) error {
	if len(claims) == 0 {
		return nil
	}
	ids := make([]any, len(claims))
	for i, c := range claims {
		ids[i] = c.ID
	}
	if _, err := conn.ExecContext(ctx, `DELETE FROM coupon_orders WHERE id IN (`+placeholders("?", len(ids))+`)`, ids...); err != nil {
		return fmt.Errorf("delete orders: %w", err)
	}
	return nil
}

// placeholders returns n copies of item, separated by commas.
func placeholders(item string, n int) string {
	return strings.Repeat(item+",", n-1) + item
}
