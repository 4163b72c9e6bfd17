package order

import (
	"context"
	"fmt"
	"math"
)

// ListByCoupon returns up to limit orders of a coupon whose users' ids are below
// before, that of the highest user first. If before is 0, it begins with the
// highest. This is the order of the unique key: to sort by the orders' own ids, the
// server would have to read all orders of the coupon for each page. Left to itself,
// MariaDB reads all from the highest on.
func (s *Store) ListByCoupon(ctx context.Context, couponID, before int64, limit int) ([]Order, error) {
	const q = `
		SELECT ` + Columns + ` FROM coupon_orders FORCE INDEX (one_each)
		WHERE coupon_id = ? AND user_id <= ? ORDER BY user_id DESC LIMIT ?`
	highest := before - 1
	if before == 0 {
		highest = math.MaxInt64
	}
	orders := []Order{}
	if err := s.db.SelectContext(ctx, &orders, q, couponID, highest, limit); err != nil {
		return nil, fmt.Errorf("coupon %d: list orders: %w", couponID, err)
	}
	return orders, nil
}
