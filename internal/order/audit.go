package order

import (
	"context"
	"fmt"
	"slices"
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
	Begin   time.Time `db:"begin_time"`
	End     time.Time `db:"end_time"`
	PerUser int       `db:"per_user"` // of the coupon; 0 in a window that is over
}

// Audit counts a coupon's orders, or returns coupon.ErrNotFound. It reads all of
// the coupon's orders, and twice if one is outside of all windows: a window that it has not
// read may be new.
func (s *Store) Audit(ctx context.Context, couponID int64) (a Audit, err error) {
	const q = `
		SELECT c.begin_time, c.end_time, COALESCE(r.per_user, 1) AS per_user
		FROM coupons c LEFT JOIN coupon_rules r ON r.coupon_id = c.id WHERE c.id = ?
		UNION ALL SELECT w.begin_time_from, w.end_time_from, 0
		FROM coupon_changes h JOIN coupon_updates w ON w.change_id = h.id WHERE h.coupon_id = ?`
	for known := -1; ; {
		var windows []window
		if err := s.db.SelectContext(ctx, &windows, q, couponID, couponID); err != nil {
			return Audit{}, fmt.Errorf("coupon %d: audit windows: %w", couponID, err)
		}
		switch {
		case !slices.ContainsFunc(windows, func(w window) bool { return w.PerUser > 0 }):
			return Audit{}, coupon.ErrNotFound
		case len(windows) == known:
			return a, nil
		}
		if a, err = s.audit(ctx, couponID, windows); err != nil || a.OutsideWindow == 0 {
			return a, err
		}
		known = len(windows)
	}
}

// audit counts orders in one statement, on one database at one instant. It knows windows of the
// coupon.
func (s *Store) audit(ctx context.Context, couponID int64, windows []window) (a Audit, err error) {
	var args []any
	perUser := 1
	for _, w := range windows {
		args, perUser = append(args, w.Begin, w.End), max(perUser, w.PerUser)
	}
	users := `user_id` // the unique key's order, in which no row is sorted
	if s.sharded() {
		users = `shard_key, user_id` // so that each shard groups its own rows
	}
	q := selectUntil(ctx) + `
		       SUM(initial_stock) AS initial_stock, SUM(stock) AS stock, SUM(orders) AS orders,
		       SUM(distinct_users) AS distinct_users, SUM(most_per_user) AS most_per_user, SUM(excess) AS excess,
		       SUM(used) AS used, SUM(overdue) AS overdue, SUM(outside_window) AS outside_window,
		       SUM(returned) AS returned, SUM(expired) AS expired
		FROM (
			SELECT c.initial_stock, u.stock, 0 AS orders, 0 AS distinct_users, 0 AS most_per_user, 0 AS excess, 0 AS used,
			       0 AS overdue, 0 AS outside_window, 0 AS returned, 0 AS expired
			FROM (` + coupon.Stock + `) u JOIN coupons c ON c.id = u.coupon_id
			UNION ALL
			SELECT 0, 0, COALESCE(SUM(n), 0), COUNT(n), COALESCE(MAX(n), 0), COALESCE(SUM(IF(n > ?, n - ?, 0)), 0),
			       COALESCE(SUM(used), 0), COALESCE(SUM(overdue), 0), COALESCE(SUM(outside), 0), 0, 0
			FROM (
				SELECT COUNT(*) AS n, COUNT(used_at) AS used,
				       COALESCE(SUM(used_at IS NULL AND expires_at < UTC_TIMESTAMP(3) - INTERVAL 1 MINUTE), 0) AS overdue,
				       SUM(NOT (created_at BETWEEN ? AND ?` +
		strings.Repeat(` OR created_at BETWEEN ? AND ?`, len(windows)-1) + `)) AS outside
				FROM coupon_orders WHERE coupon_id = ? GROUP BY ` + users + `
			) n
			UNION ALL
			SELECT 0, 0, 0, 0, 0, 0, 0, 0, 0, COUNT(IF(how = 'returned', 1, NULL)), COUNT(IF(how = 'expired', 1, NULL))
			FROM coupon_orders_ended WHERE coupon_id = ?
		) part`
	a.CouponID = couponID
	all := slices.Concat([]any{couponID, couponID, perUser, perUser}, args, []any{couponID, couponID})
	if err := s.db.GetContext(ctx, &a, q, all...); err != nil {
		return Audit{}, fmt.Errorf("coupon %d: audit: %w", couponID, err)
	}
	return a, nil
}

// selectUntil begins a SELECT that the server ends a second after ctx, at which the driver only
// closes its connection: the reads of audits that are given up and repeated would add up.
func selectUntil(ctx context.Context) string {
	deadline, ok := ctx.Deadline()
	if !ok {
		return "SELECT"
	}
	limit := time.Until(deadline) + time.Second
	return fmt.Sprintf("/*M! SET STATEMENT max_statement_time = %.3f FOR */ SELECT /*+ MAX_EXECUTION_TIME(%d) */",
		limit.Seconds(), limit.Milliseconds())
}

// ToAudit returns the ids of the coupons whose sale has started and has not ended for
// longer than afterEnd.
func (s *Store) ToAudit(ctx context.Context, afterEnd time.Duration) (ids []int64, err error) {
	const q = `
		SELECT id FROM coupons
		WHERE begin_time <= UTC_TIMESTAMP(3) AND end_time > UTC_TIMESTAMP(3) - INTERVAL ? SECOND`
	if err := s.db.SelectContext(ctx, &ids, q, int(afterEnd.Seconds())); err != nil {
		return nil, fmt.Errorf("coupons to audit: %w", err)
	}
	return ids, nil
}
