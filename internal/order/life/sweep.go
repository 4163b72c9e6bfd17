package life

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jmoiron/sqlx"

	"example.com/flashsale/internal/coupon"
	"example.com/flashsale/internal/order"
	"example.com/flashsale/internal/transaction"
)

const (
	// sweepPause is the time between two looks for orders that have expired, and
	// failurePause after one that has failed.
	sweepPause   = 500 * time.Millisecond
	failurePause = 5 * time.Second
	// maxSwept bounds the orders that end in one transaction.
	maxSwept = 500
	// maxStuck bounds the orders that cannot end and are tried at a time.
	maxStuck = 100
	// sweepTimeout bounds a transaction.
	sweepTimeout = 5 * time.Second
)

// Sweep ends orders when they have expired, until Close is called: never before, and as a
// rule within a second after. Any number of instances may sweep one database. It calls
// failed with the first error after a success.
func (s *Orders) Sweep(failed func(error)) {
	s.sweeps.Go(func() {
		var before, err error
		after := first
		for pause := sweepPause; transaction.Pause(s.ctx, pause) == nil; {
			after, err = s.sweepDue(s.ctx, after)
			if err != nil && before == nil && s.ctx.Err() == nil {
				failed(err)
			}
			before, pause = err, sweepPause
			if err != nil {
				pause = failurePause
			}
		}
	})
}

// Close returns when no sweep is running.
func (s *Orders) Close() {
	s.cancel()
	s.sweeps.Wait()
}

// sweepDue ends the orders that have expired by now, from a hold on. It goes on where it has
// ended, not at the rows that it has just removed. If one of several cannot end, it goes on
// with fewer at a time, to end the others without it, and returns the error of the last that
// cannot. The next sweep begins after the hold that it returns: the first, unless too many
// were stuck before it.
func (s *Orders) sweepDue(ctx context.Context, after hold) (hold, error) {
	due, failed := s.isDue(ctx)
	for n, stuck := maxSwept, 0; due && stuck < maxStuck; {
		holds, err := s.sweepSome(ctx, after, n)
		switch {
		case len(holds) == 0:
			return first, cmp.Or(err, failed)
		case err != nil && n > 1:
			n = 1
			continue
		case err != nil:
			failed = err
			stuck++
		case len(holds) < n:
			return first, failed
		}
		after, n = holds[len(holds)-1], min(2*n, maxSwept)
	}
	return after, failed
}

// A hold is a row of coupon_holds.
type hold struct {
	ExpiresAt time.Time `db:"expires_at"`
	OrderID   int64     `db:"order_id"`
}

// first is before every hold.
var first = hold{ExpiresAt: time.Unix(0, 0)}

// sweepSome ends orders of up to n holds that follow a hold, and removes those. It returns
// them, also if their orders could not be ended.
func (s *Orders) sweepSome(ctx context.Context, after hold, n int) (holds []hold, err error) {
	ctx, cancel := context.WithTimeout(ctx, sweepTimeout)
	defer cancel()
	var ended []ending
	err = transaction.RunRetrying(ctx, s.db, func(conn *sqlx.Conn) (err error) {
		if holds, ended, err = s.lockDue(ctx, conn, after, n); err != nil {
			return err
		}
		if err := deleteHolds(ctx, conn, holds); err != nil {
			return err
		}
		return s.expire(ctx, conn, ended)
	})
	if err != nil {
		return holds, fmt.Errorf("end expired orders: %w", err)
	}
	s.changed(order.Expired, len(ended))
	for segment := range byShard(ended) {
		s.reload(ctx, segment.CouponID)
	}
	return holds, nil
}

// isDue reports whether a hold is over. It locks nothing: most looks find none.
func (s *Orders) isDue(ctx context.Context) (due bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, sweepTimeout)
	defer cancel()
	const q = `SELECT COUNT(*) > 0 FROM (SELECT 1 FROM coupon_holds WHERE expires_at <= UTC_TIMESTAMP(3) LIMIT 1) due`
	if err := s.db.GetContext(ctx, &due, q); err != nil {
		return false, fmt.Errorf("look for expired orders: %w", err)
	}
	return due, nil
}

// lockDue locks up to n holds that are over, and of their orders those that are not used.
// The rows that are locked are those that are moved. Whether the orders have expired is
// the condition of their end, which fails if the clock has stepped back since.
func (s *Orders) lockDue(
	ctx context.Context, conn *sqlx.Conn, after hold, n int,
) (holds []hold, due []ending, err error) {
	const q = `
		SELECT expires_at, order_id FROM coupon_holds FORCE INDEX (PRIMARY)
		WHERE expires_at BETWEEN ? AND UTC_TIMESTAMP(3) AND NOT (expires_at = ? AND order_id <= ?)
		ORDER BY expires_at, order_id LIMIT ? FOR UPDATE`
	err = conn.SelectContext(ctx, &holds, q, after.ExpiresAt, after.ExpiresAt, after.OrderID, n)
	if err != nil || len(holds) == 0 {
		return nil, nil, err
	}
	ids := make([]any, len(holds))
	for i, h := range holds {
		ids[i] = h.OrderID
	}
	orders := `
		SELECT ` + order.InsertColumns + ` FROM coupon_orders FORCE INDEX (PRIMARY)
		WHERE id IN (?` + strings.Repeat(", ?", len(ids)-1) + `) AND used_at IS NULL
		ORDER BY id FOR UPDATE`
	var all []order.Order
	if err := conn.SelectContext(ctx, &all, orders, ids...); err != nil || len(all) == 0 {
		return holds, nil, err
	}
	due, err = withSegments(ctx, conn, all)
	return holds, due, err
}

// withSegments reads the coupons of orders by conn: the pool may have no other connection.
func withSegments(ctx context.Context, conn *sqlx.Conn, all []order.Order) (due []ending, err error) {
	ids := make([]int64, len(all))
	for i, o := range all {
		ids[i] = o.CouponID
	}
	coupons, err := coupon.FindAll(ctx, conn, ids...)
	if err != nil {
		return nil, fmt.Errorf("coupons of order %d to %d: %w", all[0].ID, all[len(all)-1].ID, err)
	}
	for _, o := range all {
		cp, exists := coupons[o.CouponID]
		if !exists {
			return nil, fmt.Errorf("coupon %d of order %d: %w", o.CouponID, o.ID, coupon.ErrNotFound)
		}
		due = append(due, ending{o, o.Segment(cp)})
	}
	return due, nil
}

func (s *Orders) expire(ctx context.Context, conn *sqlx.Conn, due []ending) error {
	if len(due) == 0 {
		return nil
	}
	return s.end(ctx, conn, order.Expired, nil, due)
}

// deleteHolds deletes holds. On a small table it may wait for those of running claims, and
// so it comes before anything that those wait for: the orders and the stocks.
func deleteHolds(ctx context.Context, conn *sqlx.Conn, holds []hold) error {
	if len(holds) == 0 {
		return nil
	}
	args := make([]any, 0, 2*len(holds))
	for _, h := range holds {
		args = append(args, h.ExpiresAt, h.OrderID)
	}
	q := `DELETE h FROM coupon_holds AS h FORCE INDEX (PRIMARY) WHERE ` +
		strings.Repeat(` OR expires_at = ? AND order_id = ?`, len(holds))[4:]
	_, err := transaction.Statement{SQL: q, Args: args}.Exec(ctx, conn, "delete holds")
	return err
}

// byShard returns the orders of each coupon, on a sharded database of each segment.
func byShard(all []ending) map[order.Segment][]ending {
	shards := map[order.Segment][]ending{}
	for _, o := range all {
		s := o.segment
		if !s.Sharded {
			s.Number = 0
		}
		shards[s] = append(shards[s], o)
	}
	return shards
}
