package bench

import (
	"context"
	"database/sql"
	"errors"
	"time"
)

// commit runs the articles' transaction, or one that others have published.
func (b *baseline) commit(ctx context.Context, id, userID, couponID int64) error {
	switch {
	case b.has(oneRequest):
		return b.commitInOneRequest(ctx, id, userID, couponID)
	case b.has(unitRows):
		return b.commitUnit(ctx, id, userID, couponID)
	}
	return b.commitArticles(ctx, id, userID, couponID)
}

// commitArticles counts the user's orders, decrements the stock and inserts the order.
func (b *baseline) commitArticles(ctx context.Context, id, userID, couponID int64) error {
	tx, err := b.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	steps := []func(context.Context, *sql.Tx, int64, int64, int64) error{checkNoOrder, decrementStock, insertOrder}
	if b.has(insertFirst) { // the unique key makes the count unnecessary
		steps = []func(context.Context, *sql.Tx, int64, int64, int64) error{insertOrder, decrementStock}
	}
	for _, step := range steps {
		if err := step(ctx, tx, id, userID, couponID); err != nil {
			return err
		}
	}
	return tx.Commit()
}

func checkNoOrder(ctx context.Context, tx *sql.Tx, _, userID, couponID int64) error {
	const q = `SELECT COUNT(*) FROM coupon_orders WHERE coupon_id = ? AND user_id = ?`
	var n int
	if err := tx.QueryRowContext(ctx, q, couponID, userID).Scan(&n); err != nil {
		return err
	}
	if n > 0 {
		return errors.New("already claimed")
	}
	return nil
}

func decrementStock(ctx context.Context, tx *sql.Tx, _, _, couponID int64) error {
	const q = `UPDATE coupons SET stock = stock - 1 WHERE id = ? AND stock > 0`
	result, err := tx.ExecContext(ctx, q, couponID)
	if err != nil {
		return err
	}
	if n, err := result.RowsAffected(); err != nil || n == 0 {
		return errors.Join(err, errSoldOut)
	}
	return nil
}

func insertOrder(ctx context.Context, tx *sql.Tx, id, userID, couponID int64) error {
	const q = `INSERT INTO coupon_orders (id, coupon_id, user_id, created_at) VALUES (?, ?, ?, ?)`
	_, err := tx.ExecContext(ctx, q, id, couponID, userID, time.Now().UTC())
	return err
}
