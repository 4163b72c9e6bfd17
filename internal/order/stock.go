package order

import (
	"context"
	"fmt"

	"github.com/jmoiron/sqlx"

	"example.com/flashsale/internal/coupon"
)

// A taker takes one unit of a coupon's stock within a transaction, or reports
// coupon.ErrSoldOut.
type taker func(ctx context.Context, tx *sqlx.Tx, couponID int64) error

// takeConditionally has the guard of I1 in the statement that takes: the
// shortest way, and the one of the articles.
func takeConditionally(ctx context.Context, tx *sqlx.Tx, couponID int64) error {
	const q = `UPDATE coupons SET stock = stock - 1 WHERE id = ? AND stock >= 1`
	taken, err := exec(ctx, tx, q, couponID)
	if err == nil && taken == 0 {
		return coupon.ErrSoldOut
	}
	return err
}

// takeOptimistically looks first and takes only if the row's version is still
// the one it saw: the articles' optimistic lock. It reports errConflict if not.
func takeOptimistically(ctx context.Context, tx *sqlx.Tx, couponID int64) error {
	var row struct{ Stock, Version int64 }
	if err := tx.GetContext(ctx, &row, `SELECT stock, version FROM coupons WHERE id = ?`, couponID); err != nil {
		return fmt.Errorf("look at the stock: %w", err)
	}
	if row.Stock < 1 {
		return coupon.ErrSoldOut
	}
	const q = `UPDATE coupons SET stock = stock - 1, version = version + 1 WHERE id = ? AND version = ?`
	taken, err := exec(ctx, tx, q, couponID, row.Version)
	if err == nil && taken == 0 {
		return errConflict
	}
	return err
}

// takePessimistically locks the row, looks, and takes: the articles'
// pessimistic lock.
func takePessimistically(ctx context.Context, tx *sqlx.Tx, couponID int64) error {
	return lookAndTake(ctx, tx, couponID, `SELECT stock FROM coupons WHERE id = ? FOR UPDATE`)
}

// takeUnguarded looks and takes without any guard, as a service that trusts
// its lock does. It is the control of the experiments and runs in the lab only.
func takeUnguarded(ctx context.Context, tx *sqlx.Tx, couponID int64) error {
	return lookAndTake(ctx, tx, couponID, `SELECT stock FROM coupons WHERE id = ?`)
}

func lookAndTake(ctx context.Context, tx *sqlx.Tx, couponID int64, look string) error {
	var stock int
	if err := tx.GetContext(ctx, &stock, look, couponID); err != nil {
		return fmt.Errorf("look at the stock: %w", err)
	}
	if stock < 1 {
		return coupon.ErrSoldOut
	}
	_, err := exec(ctx, tx, `UPDATE coupons SET stock = stock - 1 WHERE id = ?`, couponID)
	return err
}

// exec takes stock by q and returns how many rows that changed.
func exec(ctx context.Context, tx *sqlx.Tx, q string, args ...any) (int64, error) {
	result, err := tx.ExecContext(ctx, q, args...)
	if err != nil {
		return 0, fmt.Errorf("take stock: %w", err)
	}
	return result.RowsAffected()
}
