package order

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/jmoiron/sqlx"

	"example.com/flashsale/internal/coupon"
)

// Columns are the columns of table coupon_orders, in the order of the fields of
// Order.
const Columns = `id, coupon_id, user_id, created_at`

// A Store reads orders from MySQL.
type Store struct{ db *sqlx.DB }

// NewStore returns a Store that reads db's table coupon_orders.
func NewStore(db *sqlx.DB) *Store { return &Store{db} }

// Find returns an order, or ErrNotFound.
func (s *Store) Find(ctx context.Context, id int64) (Order, error) {
	const q = `SELECT ` + Columns + ` FROM coupon_orders WHERE id = ?`
	var o Order
	err := s.db.GetContext(ctx, &o, q, id)
	if errors.Is(err, sql.ErrNoRows) {
		return Order{}, ErrNotFound
	}
	if err != nil {
		return Order{}, fmt.Errorf("order %d: find: %w", id, err)
	}
	return o, nil
}

// ListByUser returns up to limit orders of a user whose ids are below before,
// newest first. If before is 0, it returns the newest.
func (s *Store) ListByUser(ctx context.Context, userID, before int64, limit int) ([]Order, error) {
	const q = `
		SELECT ` + Columns + ` FROM coupon_orders
		WHERE user_id = ? AND (? = 0 OR id < ?) ORDER BY id DESC LIMIT ?`
	orders := []Order{}
	if err := s.db.SelectContext(ctx, &orders, q, userID, before, before, limit); err != nil {
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
	OutsideWindow int   `db:"outside_window"` // orders at times that were in no window that the coupon has had
}

// Oversold returns the number of orders beyond the initial stock. It is 0 if I1
// holds.
func (a Audit) Oversold() int { return max(0, a.Orders-a.InitialStock) }

// Duplicates returns the number of orders beyond one per user. It is 0 if I2
// holds.
func (a Audit) Duplicates() int { return a.Orders - a.DistinctUsers }

// Undersold returns the number of units that left the stock without becoming an
// order. It is 0 if I3 holds; units still in stock do not count.
func (a Audit) Undersold() int { return max(0, a.InitialStock-max(0, a.Stock)-a.Orders) }

// Audit counts a coupon's orders, or returns coupon.ErrNotFound. It reads all of
// the coupon's orders.
func (s *Store) Audit(ctx context.Context, couponID int64) (Audit, error) {
	const q = `
		SELECT c.id AS coupon_id, c.initial_stock, ` + coupon.StockColumn + ` AS stock,
		       COALESCE(SUM(u.n), 0) AS orders, COUNT(u.n) AS distinct_users, COALESCE(MAX(u.n), 0) AS most_per_user,
		       COALESCE(SUM(u.outside), 0) AS outside_window
		FROM coupons c
		LEFT JOIN (
			SELECT COUNT(*) AS n, SUM(NOT EXISTS (
				SELECT 1 FROM coupons w
				WHERE w.id = o.coupon_id AND o.created_at BETWEEN w.begin_time AND w.end_time
			) AND NOT EXISTS (
				SELECT 1 FROM coupon_changes h JOIN coupon_updates w ON w.change_id = h.id
				WHERE h.coupon_id = o.coupon_id AND o.created_at BETWEEN w.begin_time_from AND w.end_time_from
			)) AS outside
			FROM coupon_orders o WHERE coupon_id = ? GROUP BY user_id
		) u ON TRUE
		WHERE c.id = ?
		GROUP BY c.id, c.initial_stock, c.stock`
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
