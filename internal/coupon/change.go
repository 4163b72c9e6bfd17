package coupon

import (
	"context"
	"fmt"
	"time"

	"github.com/jmoiron/sqlx"
)

// The actions of administrators.
const (
	ActionCreate  = "create"
	ActionRestock = "restock"
)

// A Change records what an administrator did to a coupon. It is written in the
// transaction of the action, so there is one if and only if the action took
// effect. Nothing updates or deletes it.
type Change struct {
	ID               int64     `db:"id"`
	CouponID         int64     `db:"coupon_id"`
	AdminID          int64     `db:"admin_id"` // the user who did it
	Action           string    `db:"action"`
	InitialStockFrom int       `db:"initial_stock_from"` // 0 if the coupon was created
	InitialStockTo   int       `db:"initial_stock_to"`
	StockFrom        int       `db:"stock_from"` // 0 if the coupon was created
	StockTo          int       `db:"stock_to"`
	CreatedAt        time.Time `db:"created_at"`
}

// Changes returns up to limit changes whose ids are below before, newest first:
// those of one coupon, or of all if couponID is 0. If before is 0, it returns the
// newest.
func (s *Store) Changes(ctx context.Context, couponID, before int64, limit int) ([]Change, error) {
	const q = `
		SELECT id, coupon_id, admin_id, action, initial_stock_from, initial_stock_to, stock_from, stock_to, created_at
		FROM coupon_changes WHERE (? = 0 OR coupon_id = ?) AND (? = 0 OR id < ?) ORDER BY id DESC LIMIT ?`
	changes := []Change{}
	if err := s.db.SelectContext(ctx, &changes, q, couponID, couponID, before, before, limit); err != nil {
		return nil, fmt.Errorf("coupon changes: list: %w", err)
	}
	return changes, nil
}

// recordChange inserts the change of a coupon from one state to another.
func recordChange(ctx context.Context, conn *sqlx.Conn, adminID int64, action string, from, to Coupon) error {
	const q = `
		INSERT INTO coupon_changes
			(coupon_id, admin_id, action, initial_stock_from, initial_stock_to, stock_from, stock_to, created_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, UTC_TIMESTAMP(3))`
	_, err := conn.ExecContext(ctx, q, to.ID, adminID, action, from.InitialStock, to.InitialStock,
		from.Stock, to.Stock)
	return err
}
