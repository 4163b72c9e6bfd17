package order

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/jmoiron/sqlx"

	"example.com/flashsale/internal/coupon"
)

// each commits one claim in one transaction, in the articles' order: does the
// user have one, take the stock, insert the order.
type each struct {
	db   *sqlx.DB
	take func(ctx context.Context, tx *sqlx.Tx, couponID int64) error
}

func (e *each) commit(ctx context.Context, o Order) error {
	err := retried(ctx, func() error {
		return inTx(ctx, e.db, func(tx *sqlx.Tx) error { return e.claim(ctx, tx, o) })
	})
	if errors.Is(err, errCommit) {
		return resolve(ctx, e.db, o.ID, err)
	}
	return err
}

func (e *each) claim(ctx context.Context, tx *sqlx.Tx, o Order) error {
	if err := unclaimed(ctx, tx, o); err != nil {
		return err
	}
	if err := e.take(ctx, tx, o.CouponID); err != nil {
		return err
	}
	return insert(ctx, tx, o)
}

// unclaimed reports an *AlreadyClaimedError if the user has an order.
func unclaimed(ctx context.Context, q sqlx.QueryerContext, o Order) error {
	const query = `SELECT id FROM coupon_orders WHERE coupon_id = ? AND user_id = ? LIMIT 1`
	var id int64
	switch err := sqlx.GetContext(ctx, q, &id, query, o.CouponID, o.UserID); {
	case err == nil:
		return &AlreadyClaimedError{OrderID: id}
	case errors.Is(err, sql.ErrNoRows):
		return nil
	default:
		return fmt.Errorf("look for an order: %w", err)
	}
}

// takeStock takes one, if one is left: the guard of I1 is in the statement.
func takeStock(ctx context.Context, tx *sqlx.Tx, couponID int64) error {
	const q = `UPDATE coupons SET stock = stock - 1 WHERE id = ? AND stock >= 1`
	result, err := tx.ExecContext(ctx, q, couponID)
	if err != nil {
		return fmt.Errorf("take stock: %w", err)
	}
	if taken, err := result.RowsAffected(); err != nil || taken == 0 {
		return errors.Join(err, coupon.ErrSoldOut)
	}
	return nil
}

// takeStockUnguarded looks first and takes then, as a service without the
// guard does. It is the control of the experiments and runs in the lab only.
func takeStockUnguarded(ctx context.Context, tx *sqlx.Tx, couponID int64) error {
	var stock int
	if err := tx.GetContext(ctx, &stock, `SELECT stock FROM coupons WHERE id = ?`, couponID); err != nil {
		return fmt.Errorf("look at the stock: %w", err)
	}
	if stock < 1 {
		return coupon.ErrSoldOut
	}
	if _, err := tx.ExecContext(ctx, `UPDATE coupons SET stock = stock - 1 WHERE id = ?`, couponID); err != nil {
		return fmt.Errorf("take stock unguarded: %w", err)
	}
	return nil
}

func insert(ctx context.Context, tx *sqlx.Tx, o Order) error {
	const q = `
		INSERT INTO coupon_orders (id, coupon_id, user_id, created_at)
		VALUES (:id, :coupon_id, :user_id, :created_at)`
	if _, err := tx.NamedExecContext(ctx, q, o); err != nil {
		return fmt.Errorf("insert: %w", err)
	}
	return nil
}

// resolve turns a commit without an answer into a verdict where that can be
// had: nil if the order stands, an error that says so if nothing was made.
func resolve(ctx context.Context, db *sqlx.DB, orderID int64, cause error) error {
	made, err := committed(ctx, db, orderID)
	switch {
	case err != nil:
		return errors.Join(cause, fmt.Errorf("read back: %w", err))
	case made:
		return nil
	default:
		return fmt.Errorf("rolled back: %w", cause)
	}
}
