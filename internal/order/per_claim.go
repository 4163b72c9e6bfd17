package order

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/jmoiron/sqlx"
)

// perClaim commits one claim in one transaction, in the articles' order: has the
// user one? take the stock, insert the order.
type perClaim struct {
	db   *sqlx.DB
	take taker
}

func (p *perClaim) Commit(ctx context.Context, o Order) error {
	err := retried(ctx, func() error {
		return inTx(ctx, p.db, func(tx *sqlx.Tx) error { return p.claim(ctx, tx, o) })
	})
	switch {
	case errors.Is(err, errCommit):
		return resolve(ctx, p.db, o.ID, err)
	case sqlError(err, duplicateKey):
		// Another claim of the user came between, or the id is taken.
		if err := unclaimed(ctx, p.db, o); err != nil {
			return err
		}
		return errIDTaken
	}
	return err
}

func (p *perClaim) claim(ctx context.Context, tx *sqlx.Tx, o Order) error {
	if err := unclaimed(ctx, tx, o); err != nil {
		return err
	}
	if err := p.take(ctx, tx, o.CouponID); err != nil {
		return err
	}
	return insert(ctx, tx, o)
}

func (p *perClaim) Close() {}

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

func insert(ctx context.Context, tx *sqlx.Tx, o Order) error {
	const q = `INSERT INTO coupon_orders (id, coupon_id, user_id, created_at) VALUES (?, ?, ?, ?)`
	if _, err := tx.ExecContext(ctx, q, o.ID, o.CouponID, o.UserID, o.CreatedAt); err != nil {
		return fmt.Errorf("insert: %w", err)
	}
	return nil
}
