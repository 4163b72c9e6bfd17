package order

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/jmoiron/sqlx"

	"example.com/flashsale/internal/coupon"
)

// InsertColumns are the columns of table coupon_orders that a claim fills.
const InsertColumns = `id, coupon_id, user_id, number, created_at, expires_at`

// Writes are what a claim writes in the tables of orders, without a row: see
// transaction.CheckWritable.
var Writes = []string{
	`INSERT INTO coupon_orders (` + InsertColumns + `) SELECT ` + InsertColumns + ` FROM coupon_orders WHERE 1 = 0`,
	`UPDATE coupon_orders SET id = id WHERE 1 = 0`,
	`DELETE FROM coupon_orders WHERE 1 = 0`,
	`INSERT INTO coupon_holds (expires_at, order_id) SELECT expires_at, order_id FROM coupon_holds WHERE 1 = 0`,
	`DELETE FROM coupon_holds WHERE 1 = 0`,
}

// Columns are the fields of an Order that counts.
const Columns = InsertColumns + `, used_at, used_by, used_ref, NULL AS ended_at,
	CASE WHEN used_at IS NOT NULL THEN 'used' WHEN expires_at <= UTC_TIMESTAMP(3) THEN 'expired' ELSE 'claimed' END AS state`

// endedColumns are the fields of an Order in table coupon_orders_ended.
const endedColumns = `id, coupon_id, user_id, number, created_at, NULL AS expires_at, NULL AS used_at, NULL AS used_by,
	NULL AS used_ref, ended_at, how AS state`

// A Store reads orders from MySQL.
type Store struct{ db *sqlx.DB }

// NewStore returns a Store that reads db's orders.
func NewStore(db *sqlx.DB) *Store { return &Store{db} }

// Find returns an order, which may have ended, or ErrNotFound.
func (s *Store) Find(ctx context.Context, id int64) (Order, error) {
	const q = `SELECT ` + Columns + ` FROM coupon_orders WHERE id = ?
		UNION ALL SELECT ` + endedColumns + ` FROM coupon_orders_ended WHERE id = ?`
	var o Order
	err := s.db.GetContext(ctx, &o, q, id, id)
	if errors.Is(err, sql.ErrNoRows) {
		return Order{}, ErrNotFound
	}
	if err != nil {
		return Order{}, fmt.Errorf("order %d: find: %w", id, err)
	}
	return o, nil
}

// ListByUser returns up to limit orders of a user whose ids are below before, those that
// have ended among them, newest first. If before is 0, it returns the newest.
func (s *Store) ListByUser(ctx context.Context, userID, before int64, limit int) ([]Order, error) {
	const condition = ` WHERE user_id = ? AND id < ? ORDER BY id DESC LIMIT ?`
	const q = `(SELECT ` + Columns + ` FROM coupon_orders` + condition + `)
		UNION ALL (SELECT ` + endedColumns + ` FROM coupon_orders_ended` + condition + `) ORDER BY id DESC LIMIT ?`
	if before == 0 {
		before = math.MaxInt64
	}
	orders := []Order{}
	if err := s.db.SelectContext(ctx, &orders, q, userID, before, limit, userID, before, limit, limit); err != nil {
		return nil, fmt.Errorf("user %d: list orders: %w", userID, err)
	}
	return orders, nil
}

// An Audit is a coupon's stock and orders at one instant.
type Audit struct {
	CouponID      int64 `db:"coupon_id"`
	InitialStock  int   `db:"initial_stock"`
	Stock         int   `db:"stock"`
	Orders        int   `db:"orders"`
	DistinctUsers int   `db:"distinct_users"`
	MostPerUser   int   `db:"most_per_user"`
	Excess        int   `db:"excess"`         // orders of users beyond the coupon's PerUser
	Used          int   `db:"used"`           // of the orders
	Overdue       int   `db:"overdue"`        // of the orders, expired for longer than a minute
	Returned      int   `db:"returned"`       // orders that have ended
	Expired       int   `db:"expired"`        // orders that have ended
	OutsideWindow int   `db:"outside_window"` // orders at times that were in no window that the coupon has had
}

// Oversold returns the number of orders beyond the initial stock. It is 0 if I1
// holds.
func (a Audit) Oversold() int { return max(0, a.Orders-a.InitialStock) }

// Duplicates returns the number of orders beyond those that each user may have. It is 0
// if I2 holds.
func (a Audit) Duplicates() int { return a.Excess }

// Undersold returns the number of units that left the stock without becoming an
// order. It is 0 if I3 holds; units still in stock do not count.
func (a Audit) Undersold() int { return max(0, a.InitialStock-max(0, a.Stock)-a.Orders) }

// Surplus returns the number of units that came back without an order that ended. It is
// 0 if I1 holds.
func (a Audit) Surplus() int { return max(0, a.Stock+a.Orders-a.InitialStock) }

// Audit counts a coupon's orders, or returns coupon.ErrNotFound. It reads all of
// the coupon's orders.
func (s *Store) Audit(ctx context.Context, couponID int64) (Audit, error) {
	const q = `
		SELECT c.id AS coupon_id, c.initial_stock, ` + coupon.StockColumn + ` AS stock,
		       COALESCE(SUM(u.n), 0) AS orders, COUNT(u.n) AS distinct_users, COALESCE(MAX(u.n), 0) AS most_per_user,
		       COALESCE(SUM(IF(u.n > COALESCE(r.per_user, 1), u.n - COALESCE(r.per_user, 1), 0)), 0) AS excess,
		       COALESCE(SUM(u.used), 0) AS used, COALESCE(SUM(u.overdue), 0) AS overdue,
		       (SELECT COUNT(*) FROM coupon_orders_ended e WHERE e.coupon_id = c.id AND e.how = 'returned') AS returned,
		       (SELECT COUNT(*) FROM coupon_orders_ended e WHERE e.coupon_id = c.id AND e.how = 'expired') AS expired,
		       COALESCE(SUM(u.outside), 0) AS outside_window
		FROM coupons c LEFT JOIN coupon_rules r ON r.coupon_id = c.id
		LEFT JOIN (
			SELECT COUNT(*) AS n, COUNT(used_at) AS used,
			       COALESCE(SUM(used_at IS NULL AND expires_at < UTC_TIMESTAMP(3) - INTERVAL 1 MINUTE), 0) AS overdue,
			       SUM(NOT EXISTS (
				SELECT 1 FROM coupons w
				WHERE w.id = o.coupon_id AND o.created_at BETWEEN w.begin_time AND w.end_time
			) AND NOT EXISTS (
				SELECT 1 FROM coupon_changes h JOIN coupon_updates w ON w.change_id = h.id
				WHERE h.coupon_id = o.coupon_id AND o.created_at BETWEEN w.begin_time_from AND w.end_time_from
			)) AS outside
			FROM coupon_orders o WHERE coupon_id = ? GROUP BY user_id
		) u ON TRUE
		WHERE c.id = ?
		GROUP BY c.id, c.initial_stock, c.stock, r.per_user`
	var a Audit
	err := s.db.GetContext(ctx, &a, q, couponID, couponID)
	if errors.Is(err, sql.ErrNoRows) {
		return Audit{}, coupon.ErrNotFound
	}
	if err != nil {
		return Audit{}, fmt.Errorf("coupon %d: audit: %w", couponID, err)
	}
	return a, nil
}

// AuditAll audits, one after the other, the coupons whose sale has started and
// has not ended for longer than afterEnd.
func (s *Store) AuditAll(ctx context.Context, afterEnd time.Duration) ([]Audit, error) {
	const q = `
		SELECT id FROM coupons
		WHERE begin_time <= UTC_TIMESTAMP(3) AND end_time > UTC_TIMESTAMP(3) - INTERVAL ? SECOND`
	var ids []int64
	if err := s.db.SelectContext(ctx, &ids, q, int(afterEnd.Seconds())); err != nil {
		return nil, fmt.Errorf("coupons to audit: %w", err)
	}
	audits := make([]Audit, 0, len(ids))
	for _, id := range ids {
		a, err := s.Audit(ctx, id)
		if err != nil {
			return nil, err
		}
		audits = append(audits, a)
	}
	return audits, nil
}
