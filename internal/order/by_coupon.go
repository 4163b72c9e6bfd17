package order

import (
	"context"
	"fmt"
	"math"
)

// ListByCoupon returns the orders of a coupon that count and whose users' ids are below
// before, those of the highest user first: up to limit of them, and then the others of
// the last user. If before is 0, it begins with the highest. This is the order of the
// unique key: to sort by the orders' own ids, the server would have to read all orders
// of the coupon for each page. Left to itself, MariaDB reads all from the highest on.
func (s *Store) ListByCoupon(ctx context.Context, couponID, before int64, limit int) ([]Order, error) {
	const q = `
		SELECT ` + Columns + ` FROM coupon_orders FORCE INDEX (one_each)
		WHERE coupon_id = ? AND user_id <= ? ORDER BY user_id DESC, number DESC LIMIT ?`
	const rest = `
		SELECT ` + Columns + ` FROM coupon_orders FORCE INDEX (one_each)
		WHERE coupon_id = ? AND user_id = ? AND number < ? ORDER BY number DESC`
	highest := before - 1
	if before == 0 {
		highest = math.MaxInt64
	}
	orders := []Order{}
	if err := s.db.SelectContext(ctx, &orders, q, couponID, highest, limit); err != nil {
		return nil, fmt.Errorf("coupon %d: list orders: %w", couponID, err)
	}
	if len(orders) < limit || limit == 0 {
		return orders, nil
	}
	last, more := orders[len(orders)-1], []Order{}
	if last.Number > 1 {
		if err := s.db.SelectContext(ctx, &more, rest, couponID, last.UserID, last.Number); err != nil {
			return nil, fmt.Errorf("coupon %d: list orders: %w", couponID, err)
		}
	}
	return append(orders, more...), nil
}
