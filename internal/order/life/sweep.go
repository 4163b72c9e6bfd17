package life

import (
	"context"
	"errors"
	"fmt"
	"slices"
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
	// sweepTimeout bounds a transaction.
	sweepTimeout = 5 * time.Second
)

// Sweep ends orders when they have expired, until Close is called: never before, and as a
// rule within a second after. Any number of instances may sweep one database. It calls
// failed with the first error after a success.
func (s *Orders) Sweep(failed func(error)) {
	s.sweeps.Go(func() {
		var before error
		for pause := sweepPause; transaction.Pause(s.ctx, pause) == nil; {
			err := s.sweepDue(s.ctx)
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

// sweepDue ends the orders that have expired by now. If one of several cannot end, it ends
// each by itself, and returns the error of the last that cannot.
func (s *Orders) sweepDue(ctx context.Context) error {
	n, err := maxSwept, error(nil)
	for err == nil && n == maxSwept {
		n, err = s.sweepOnce(ctx, maxSwept, 0)
	}
	for kept := 0; isOfOne(err) && kept < maxSwept; {
		n, one := s.sweepOnce(ctx, 1, kept)
		switch {
		case one != nil:
			err = one
			kept++
		case n == 0:
			return err
		}
	}
	return err
}

// isOfOne reports whether err is why one order cannot end: its coupon has been deleted, or
// a rule that an administrator has added, such as a foreign key, keeps it.
func isOfOne(err error) bool {
	return errors.Is(err, coupon.ErrNotFound) || transaction.IsOfRow(err)
}

// A hold is a row of coupon_holds whose time has come, with its order if that is still
// to be ended.
type hold struct {
	ExpiresAt time.Time `db:"expires_at"`
	OrderID   int64     `db:"order_id"`
}

// sweepOnce ends up to limit orders, without the first kept, and removes their holds. It
// returns how many holds it has removed.
func (s *Orders) sweepOnce(ctx context.Context, limit, kept int) (n int, err error) {
	if due, err := s.isDue(ctx); err != nil || !due {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, sweepTimeout)
	defer cancel()
	var ended []ending
	err = s.inTx(ctx, func(conn *sqlx.Conn) error {
		var holds []hold
		if holds, ended, err = s.lockDue(ctx, conn, limit, kept); err != nil {
			return err
		}
		n = len(holds)
		return errors.Join(s.expire(ctx, conn, ended), deleteHolds(ctx, conn, holds))
	})
	if err != nil {
		return 0, fmt.Errorf("end expired orders: %w", err)
	}
	s.changed(order.Expired, len(ended))
	for _, id := range couponsOf(ended) {
		s.reload(ctx, id)
	}
	return n, nil
}

// isDue reports whether a hold is over. It locks nothing: most looks find none.
func (s *Orders) isDue(ctx context.Context) (due bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, sweepTimeout)
	defer cancel()
	const q = `SELECT EXISTS (SELECT 1 FROM coupon_holds WHERE expires_at <= UTC_TIMESTAMP(3))`
	if err := s.db.GetContext(ctx, &due, q); err != nil {
		return false, fmt.Errorf("look for expired orders: %w", err)
	}
	return due, nil
}

// lockDue locks limit of the holds that are over, after the first kept, and of their
// orders those that are to be ended.
func (s *Orders) lockDue(
	ctx context.Context, conn *sqlx.Conn, limit, kept int,
) (holds []hold, due []ending, err error) {
	const q = `
		SELECT expires_at, order_id FROM coupon_holds FORCE INDEX (PRIMARY)
		WHERE expires_at <= UTC_TIMESTAMP(3) ORDER BY expires_at, order_id LIMIT ? OFFSET ? FOR UPDATE`
	if err := conn.SelectContext(ctx, &holds, q, limit, kept); err != nil || len(holds) == 0 {
		return nil, nil, err
	}
	ids := make([]any, len(holds))
	for i, h := range holds {
		ids[i] = h.OrderID
	}
	orders := `
		SELECT ` + order.InsertColumns + ` FROM coupon_orders o FORCE INDEX (PRIMARY)
		WHERE id IN (?` + strings.Repeat(", ?", len(ids)-1) + `) AND ` + openConditions[order.Expired] + `
		ORDER BY id FOR UPDATE`
	var all []order.Order
	if err := conn.SelectContext(ctx, &all, orders, ids...); err != nil {
		return nil, nil, err
	}
	for _, o := range all {
		cp, err := s.coupons.Find(ctx, o.CouponID)
		if err != nil {
			return nil, nil, fmt.Errorf("order %d of coupon %d: %w", o.ID, o.CouponID, err)
		}
		due = append(due, ending{o, order.OwnSegment(cp, o.UserID)})
	}
	return holds, due, nil
}

func (s *Orders) expire(ctx context.Context, conn *sqlx.Conn, due []ending) error {
	if len(due) == 0 {
		return nil
	}
	return s.end(ctx, conn, order.Expired, nil, due)
}

func deleteHolds(ctx context.Context, conn *sqlx.Conn, holds []hold) error {
	if len(holds) == 0 {
		return nil
	}
	args := make([]any, 0, 2*len(holds))
	for _, h := range holds {
		args = append(args, h.ExpiresAt, h.OrderID)
	}
	over := `SELECT CAST(? AS DATETIME(3)) AS expires_at, ? AS order_id` +
		strings.Repeat(` UNION ALL SELECT CAST(? AS DATETIME(3)), ?`, len(holds)-1)
	q := `DELETE h FROM (` + over + `) done STRAIGHT_JOIN coupon_holds h
		ON h.expires_at = done.expires_at AND h.order_id = done.order_id`
	if _, err := conn.ExecContext(ctx, q, args...); err != nil {
		return fmt.Errorf("delete holds: %w", err)
	}
	return nil
}

func couponsOf(all []ending) (ids []int64) {
	for _, o := range all {
		ids = append(ids, o.CouponID)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}
