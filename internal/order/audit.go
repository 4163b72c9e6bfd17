package order

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"example.com/flashsale/internal/coupon"
)

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

// A window is a time when a coupon was on sale.
type window struct {
	Begin time.Time `db:"begin_time_from"`
	End   time.Time `db:"end_time_from"`
}

// Audit counts a coupon's orders, or returns coupon.ErrNotFound. It reads all of
// the coupon's orders, and windows that the coupon had before only if an order needs one.
func (s *Store) Audit(ctx context.Context, couponID int64) (Audit, error) {
	const q = `
		SELECT w.begin_time_from, w.end_time_from
		FROM coupon_changes h JOIN coupon_updates w ON w.change_id = h.id WHERE h.coupon_id = ?`
	var earlier []window
	for {
		a, err := s.audit(ctx, couponID, earlier)
		if err != nil || a.OutsideWindow == 0 {
			return a, err
		}
		var all []window
		if err := s.db.SelectContext(ctx, &all, q, couponID); err != nil {
			return Audit{}, fmt.Errorf("coupon %d: audit windows: %w", couponID, err)
		}
		if len(all) == len(earlier) {
			return a, nil
		}
		earlier = all
	}
}

// audit counts orders at one instant, in a statement that vtgate sends to one shard as it
// is. It knows the earlier windows of the coupon.
func (s *Store) audit(ctx context.Context, couponID int64, earlier []window) (a Audit, err error) {
	var args []any
	for _, w := range earlier {
		args = append(args, w.Begin, w.End)
	}
	q := `
		SELECT c.id AS coupon_id, c.initial_stock, ` + coupon.StockColumn + ` AS stock,
		       COALESCE(SUM(u.n), 0) AS orders, COUNT(u.n) AS distinct_users, COALESCE(MAX(u.n), 0) AS most_per_user,
		       COALESCE(SUM(IF(u.n > COALESCE(r.per_user, 1), u.n - COALESCE(r.per_user, 1), 0)), 0) AS excess,
		       COALESCE(SUM(u.used), 0) AS used, COALESCE(SUM(u.overdue), 0) AS overdue, e.returned, e.expired,
		       COALESCE(SUM(u.outside), 0) AS outside_window
		FROM coupons c LEFT JOIN coupon_rules r ON r.coupon_id = c.id
		LEFT JOIN (
			SELECT COUNT(*) AS n, COUNT(used_at) AS used,
			       COALESCE(SUM(used_at IS NULL AND expires_at < UTC_TIMESTAMP(3) - INTERVAL 1 MINUTE), 0) AS overdue,
			       SUM(NOT (o.created_at BETWEEN w.begin_time AND w.end_time` +
		strings.Repeat(` OR o.created_at BETWEEN ? AND ?`, len(earlier)) + `)) AS outside
			FROM coupon_orders o JOIN coupons w ON w.id = o.coupon_id WHERE o.coupon_id = ? GROUP BY user_id
		) u ON TRUE
		JOIN (
			SELECT COUNT(IF(how = 'returned', 1, NULL)) AS returned, COUNT(IF(how = 'expired', 1, NULL)) AS expired
			FROM coupon_orders_ended WHERE coupon_id = ?
		) e ON TRUE
		WHERE c.id = ?
		GROUP BY c.id, c.initial_stock, c.stock, r.per_user, e.returned, e.expired`
	err = s.db.GetContext(ctx, &a, q, append(args, couponID, couponID, couponID)...)
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
