package life

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/jmoiron/sqlx"

	"example.com/flashsale/internal/coupon"
	"example.com/flashsale/internal/order"
	"example.com/flashsale/internal/order/events"
	"example.com/flashsale/internal/transaction"
)

// Return ends an order and gives its unit back. Its user may do so if the coupon is
// returnable, an administrator always. Repeated, it returns the same order. The error is
// order.ErrNotFound, also if the order is another user's, order.ErrNotReturnable,
// *order.UsedError, order.ErrExpired, or wraps order.ErrOutcomeUnknown.
func (s *Orders) Return(ctx context.Context, id int64, by Caller) (o order.Order, err error) {
	if s.lab == nil {
		return s.giveUp(ctx, id, by)
	}
	err = s.lab.Locked(ctx, by.UserID, func(ctx context.Context) error {
		o, err = s.giveUp(ctx, id, by)
		return err
	})
	return o, err
}

func (s *Orders) giveUp(ctx context.Context, id int64, by Caller) (order.Order, error) {
	o, err := s.store.Find(ctx, id)
	switch {
	case errors.Is(err, order.ErrNotFound):
		return order.Order{}, err
	case err != nil:
		return order.Order{}, unknown("return", id, err)
	case o.UserID != by.UserID && !by.Admin:
		return order.Order{}, order.ErrNotFound
	case o.State == order.Returned:
		return o, nil
	case o.State == order.Used, o.EndedAt != nil, o.State == order.Expired && s.lab != nil:
		return order.Order{}, verdict(o)
	}
	cp, err := s.coupons.Find(ctx, o.CouponID)
	if err != nil {
		return order.Order{}, unknown("return", id, err)
	}
	if !cp.Returnable && !by.Admin {
		return order.Order{}, order.ErrNotReturnable
	}
	if s.lab != nil {
		_ = transaction.Pause(ctx, s.lab.Pause)
	}
	return s.returned(ctx, o, cp, by.UserID)
}

// returned ends o, and returns it as it is then.
func (s *Orders) returned(ctx context.Context, o order.Order, cp coupon.Coupon, by int64) (order.Order, error) {
	column, key := o.Shard()
	err := transaction.RunRetrying(ctx, s.db, func(conn *sqlx.Conn) error {
		if _, err := lock(ctx, conn, `id = ? AND `+column+` = ?`, o.ID, key); err != nil {
			return err
		}
		return s.end(ctx, conn, order.Returned, &by, []ending{{o, o.Segment(cp)}})
	})
	if err == nil {
		s.changed(order.Returned, 1)
	}
	s.reload(ctx, o.CouponID)
	after, err2 := s.store.Find(ctx, o.ID)
	switch {
	case err2 != nil:
		return order.Order{}, unknown("return", o.ID, errors.Join(err, err2))
	case after.State == order.Returned: // by this call, perhaps without a reply, or by another
		return after, nil
	case err == nil && after.EndedAt != nil || errors.Is(err, errLost):
		return order.Order{}, verdict(after)
	}
	return order.Order{}, unknown("return", o.ID, errors.Join(err, errNotSeen))
}

// reload makes this instance see the units that have come back.
func (s *Orders) reload(ctx context.Context, couponID int64) {
	_, _ = s.coupons.Reload(ctx, couponID) // otherwise the cache is soon too old
}

// An ending is an order that ends, and the segment that gets its unit.
type ending struct {
	order.Order
	segment order.Segment
}

func ordersOf(all []ending) iter.Seq[order.Order] {
	return func(yield func(order.Order) bool) {
		for _, o := range all {
			if !yield(o.Order) {
				return
			}
		}
	}
}

// errLost says that another transition of one of the orders came first.
var errLost = errors.New("an order has been used or has ended meanwhile")

// openConditions are those under which an order may end.
var openConditions = map[order.State]string{
	order.Returned: `used_at IS NULL AND (expires_at IS NULL OR expires_at > UTC_TIMESTAMP(3))`,
	order.Expired:  `used_at IS NULL AND expires_at <= UTC_TIMESTAMP(3)`,
}

// end moves orders to those that have ended, and gives their units back. The rows are
// locked in the order in which claims lock them: orders before stocks.
func (s *Orders) end(ctx context.Context, conn *sqlx.Conn, how order.State, by *int64, all []ending) error {
	condition, insert := openConditions[how], `INSERT`
	if s.lab != nil { // as a shop does that sets a status
		condition, insert = `TRUE`, `INSERT IGNORE`
	}
	deleted, err := order.DeleteStatement(ordersOf(all), condition).Exec(ctx, conn, "delete orders")
	if err != nil {
		return err
	}
	if deleted != len(all) && s.lab == nil {
		return errLost
	}
	ended := transaction.Statement{SQL: insert + ` INTO coupon_orders_ended
		(id, coupon_id, user_id, number, created_at, ended_at, how, ended_by, shard_key) VALUES ` +
		strings.Repeat(`, (?, ?, ?, ?, ?, UTC_TIMESTAMP(3), ?, ?, ?)`, len(all))[2:]}
	for _, o := range all {
		ended.Args = append(ended.Args, o.ID, o.CouponID, o.UserID, o.Number, o.CreatedAt, how, by, o.ShardKey)
	}
	if _, err := ended.Exec(ctx, conn, "insert ended orders"); err != nil {
		return err
	}
	for _, some := range byShard(all) { // on vtgate an event is on the shard of its orders
		if _, err := s.outbox.Statement(how, ordersOf(some)).Exec(ctx, conn, events.Insert); err != nil {
			return err
		}
	}
	return giveBack(ctx, conn, all)
}

// giveBack adds the units of orders to the stocks of their segments, in the order in
// which all transactions lock those.
func giveBack(ctx context.Context, conn *sqlx.Conn, all []ending) error {
	units := map[order.Segment]int{}
	for _, o := range all {
		units[o.segment]++
	}
	for _, s := range slices.SortedFunc(maps.Keys(units), order.Segment.Compare) {
		back := s.Update(`stock = stock + ?, version = version + 1`, []any{units[s]}, `TRUE`)
		if n, err := back.Exec(ctx, conn, "give units back"); err != nil || n != 1 {
			return errors.Join(fmt.Errorf("coupon %d, segment %d: %d rows got units", s.CouponID, s.Number, n), err)
		}
	}
	return nil
}
