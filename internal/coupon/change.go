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
	ActionUpdate  = "update"
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

	// nil unless Action is ActionUpdate; while a sharded database commits one, perhaps nil nevertheless
	NameFrom      *string    `db:"name_from"`
	NameTo        *string    `db:"name_to"`
	BeginTimeFrom *time.Time `db:"begin_time_from"`
	BeginTimeTo   *time.Time `db:"begin_time_to"`
	EndTimeFrom   *time.Time `db:"end_time_from"`
	EndTimeTo     *time.Time `db:"end_time_to"`
}

// Changes returns up to limit changes whose ids are below before, newest first:
// those of one coupon, or of all if couponID is 0. If before is 0, it returns the
// newest.
func (s *Store) Changes(ctx context.Context, couponID, before int64, limit int) ([]Change, error) {
	const q = `
		SELECT c.id, c.coupon_id, c.admin_id, c.action, c.initial_stock_from, c.initial_stock_to,
		       c.stock_from, c.stock_to, c.created_at,
		       u.name_from, u.name_to, u.begin_time_from, u.begin_time_to, u.end_time_from, u.end_time_to
		FROM coupon_changes c LEFT JOIN coupon_updates u ON u.change_id = c.id
		WHERE (? = 0 OR c.coupon_id = ?) AND (? = 0 OR c.id < ?) ORDER BY c.id DESC LIMIT ?`
	changes := []Change{}
	if err := s.db.SelectContext(ctx, &changes, q, couponID, couponID, before, before, limit); err != nil {
		return nil, fmt.Errorf("coupon changes: list: %w", err)
	}
	return changes, nil
}

// recordChange inserts the change of a coupon from one state to another, and
// returns its id.
func recordChange(ctx context.Context, conn *sqlx.Conn, adminID int64, action string, from, to Coupon) (int64, error) {
	const q = `
		INSERT INTO coupon_changes
			(coupon_id, admin_id, action, initial_stock_from, initial_stock_to, stock_from, stock_to, created_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, UTC_TIMESTAMP(3))`
	inserted, err := conn.ExecContext(ctx, q, to.ID, adminID, action, from.InitialStock, to.InitialStock,
		from.Stock, to.Stock)
	if err != nil {
		return 0, err
	}
	id, err := inserted.LastInsertId()
	if err == nil && action == ActionUpdate {
		err = recordUpdate(ctx, conn, id, from, to)
	}
	return id, err
}

// recordUpdate inserts what a change has changed of name and window.
func recordUpdate(ctx context.Context, conn *sqlx.Conn, changeID int64, from, to Coupon) error {
	const q = `
		INSERT INTO coupon_updates
			(change_id, name_from, name_to, begin_time_from, begin_time_to, end_time_from, end_time_to)
		VALUES (?, ?, ?, ?, ?, ?, ?)`
	_, err := conn.ExecContext(ctx, q, changeID, from.Name, to.Name, from.BeginTime, to.BeginTime,
		from.EndTime, to.EndTime)
	return err
}
