package linearizable

import (
	"context"
	"fmt"
	"time"

	"example.com/flashsale/loadtest/rig"
)

// couponCache is COUPON_CACHE: how old a stock may be that refuses a claim.
const couponCache = 200 * time.Millisecond

// check returns why the operations on a coupon are not linearizable, or nil.
func check(operations []operation, end final) error {
	steps, err := resolve(operations, end, couponCache)
	if err != nil {
		return err
	}
	s := newSearch(steps, end.initial)
	found, second := s.run(), crossCheck(steps, end.initial)
	switch {
	case found == undecided:
		return fmt.Errorf("undecided after %d states", maxStates)
	case second != undecided && second != found:
		return fmt.Errorf("the search says %d and porcupine %d", found, second)
	case found == violated:
		return fmt.Errorf("no order of %d steps agrees with the replies: %d can be ordered, and %s cannot follow",
			len(steps), s.deepest, s.blocking)
	}
	return nil
}

// String says what a step is, in messages.
func (s step) String() string {
	what := fmt.Sprintf("a restock of %d", s.units)
	switch {
	case s.units < 0:
		what = fmt.Sprintf("the order of user %d", s.user)
	case s.units == 0:
		what = fmt.Sprintf("sold out, told to user %d", s.user)
	}
	return fmt.Sprintf("%s (%.3f s to %.3f s)", what, s.call.Seconds(), s.ret.Seconds())
}

// readFinal reads what the database has for a coupon.
func readFinal(ctx context.Context, sale *rig.Sale, coupon int64, initial int) (final, error) {
	end := final{initial: initial, orders: map[int64]int64{}}
	var err error
	if end.stock, err = sale.Stock(ctx, coupon); err != nil {
		return end, err
	}
	const restocks = `SELECT initial_stock_to - initial_stock_from FROM coupon_changes WHERE coupon_id = ? AND action = 'restock'`
	if err := sale.DB.SelectContext(ctx, &end.restocks, restocks, coupon); err != nil {
		return end, fmt.Errorf("read restocks: %w", err)
	}
	var orders []struct {
		ID     int64 `db:"id"`
		UserID int64 `db:"user_id"`
	}
	if err := sale.DB.SelectContext(ctx, &orders, `SELECT id, user_id FROM coupon_orders WHERE coupon_id = ?`,
		coupon); err != nil {
		return end, fmt.Errorf("read orders: %w", err)
	}
	for _, o := range orders {
		if end.orders[o.UserID] != 0 {
			return end, fmt.Errorf("user %d has two orders for coupon %d", o.UserID, coupon)
		}
		end.orders[o.UserID] = o.ID
	}
	return end, nil
}
