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

// A batch is one transaction's worth of claims of one coupon.
type batch struct {
	couponID int64
	claims   []*claim        // in the order in which they arrived
	won      []*claim        // those with an order once the transaction is committed
	refused  map[int64]error // why the others have none, by order id
}

// errNothingWon ends a transaction that has nothing to commit.
var errNothingWon = errors.New("nothing won")

// run inserts the orders, then takes as many from the stock: the coupon's row,
// which every instance wants, is locked for the update and the commit only.
func (b *batch) run(ctx context.Context, tx *sqlx.Tx) error {
	b.won, b.refused = nil, map[int64]error{}
	fresh, err := b.insert(ctx, tx)
	if err != nil {
		return err
	}
	b.won, err = b.take(ctx, tx, fresh)
	if err == nil && len(b.won) == 0 {
		return errNothingWon
	}
	return err
}

// insert adds an order for each claim whose user has none, and returns those.
func (b *batch) insert(ctx context.Context, tx *sqlx.Tx) ([]*claim, error) {
	q, args := b.insertion()
	q += ` ON DUPLICATE KEY UPDATE id = id` // no INSERT IGNORE: that would ignore every other error as well
	result, err := tx.ExecContext(ctx, q, args...)
	if err != nil {
		return nil, fmt.Errorf("insert: %w", err)
	}
	if inserted, err := result.RowsAffected(); err != nil || int(inserted) == len(b.claims) {
		return b.claims, err
	}
	return b.sift(ctx, tx)
}

// insertion is the statement that inserts an order for each claim. The rows are
// in the order of the unique key, so that the batches of two instances wait for
// each other instead of deadlocking.
func (b *batch) insertion() (q string, args []any) {
	rows := slices.Clone(b.claims)
	slices.SortStableFunc(rows, func(x, y *claim) int { return cmp.Compare(x.UserID, y.UserID) })
	args = make([]any, 0, 4*len(rows)+3) // atOnce adds three
	for _, c := range rows {
		args = append(args, c.ID, c.CouponID, c.UserID, c.CreatedAt)
	}
	return `INSERT INTO coupon_orders (id, coupon_id, user_id, created_at) VALUES ` + list("(?, ?, ?, ?)", len(rows)), args
}

// sift tells the claims that were inserted from those whose users had an order.
func (b *batch) sift(ctx context.Context, tx *sqlx.Tx) (fresh []*claim, err error) {
	users := make([]any, 0, len(b.claims)+1)
	users = append(users, b.couponID)
	for _, c := range b.claims {
		users = append(users, c.UserID)
	}
	q := `SELECT id, user_id FROM coupon_orders WHERE coupon_id = ? AND user_id IN (` + list("?", len(b.claims)) + `)`
	var stand []Order
	if err := tx.SelectContext(ctx, &stand, q, users...); err != nil {
		return nil, fmt.Errorf("look for orders: %w", err)
	}
	orderOf := make(map[int64]int64, len(stand))
	for _, o := range stand {
		orderOf[o.UserID] = o.ID
	}
	for _, c := range b.claims {
		switch id, ok := orderOf[c.UserID]; {
		case !ok:
			b.refused[c.ID] = errIDTaken
		case id != c.ID:
			b.refused[c.ID] = &AlreadyClaimedError{OrderID: id}
		default:
			fresh = append(fresh, c)
		}
	}
	return fresh, nil
}

// take takes the stock for fresh, or for as many of them as it covers, the
// first first. It returns those; the others' orders are taken back.
func (b *batch) take(ctx context.Context, tx *sqlx.Tx, fresh []*claim) ([]*claim, error) {
	const q = `UPDATE coupons SET stock = stock - ? WHERE id = ? AND stock >= ?`
	if len(fresh) == 0 {
		return nil, nil
	}
	taken, err := exec(ctx, tx, q, len(fresh), b.couponID, len(fresh))
	if err != nil || taken == 1 {
		return fresh, err
	}
	var left int
	if err := tx.GetContext(ctx, &left, `SELECT stock FROM coupons WHERE id = ? FOR UPDATE`, b.couponID); err != nil {
		return nil, fmt.Errorf("look at the stock: %w", err)
	}
	left = min(max(0, left), len(fresh))
	won, late := fresh[:left], fresh[left:]
	b.refuse(late)
	if left == 0 {
		return nil, nil // the rollback takes their orders back
	}
	if err := takeBack(ctx, tx, late); err != nil {
		return nil, err
	}
	_, err = exec(ctx, tx, q, left, b.couponID, left)
	return won, err
}

// refuse tells late that the coupon is sold out, and so those claims of the
// same users that were to be told of late's orders.
func (b *batch) refuse(late []*claim) {
	gone := make(map[int64]bool, len(late))
	for _, c := range late {
		b.refused[c.ID], gone[c.ID] = coupon.ErrSoldOut, true
	}
	for id, err := range b.refused {
		if again, ok := errors.AsType[*AlreadyClaimedError](err); ok && gone[again.OrderID] {
			b.refused[id] = coupon.ErrSoldOut
		}
	}
}

func takeBack(ctx context.Context, tx *sqlx.Tx, late []*claim) error {
	if len(late) == 0 {
		return nil
	}
	ids := make([]any, len(late))
	for i, c := range late {
		ids[i] = c.ID
	}
	if _, err := tx.ExecContext(ctx, `DELETE FROM coupon_orders WHERE id IN (`+list("?", len(ids))+`)`, ids...); err != nil {
		return fmt.Errorf("take orders back: %w", err)
	}
	return nil
}

// list is n times item, separated by commas.
func list(item string, n int) string {
	return strings.Repeat(item+",", n-1) + item
}
