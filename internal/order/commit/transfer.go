package commit

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jmoiron/sqlx"

	"example.com/flashsale/internal/coupon"
	"example.com/flashsale/internal/order"
	"example.com/flashsale/internal/transaction"
)

// units is a number of units of a segment.
type units struct {
	order.Segment
	n int
}

// A transfer moves units from a segment of a coupon to another one, in two steps that each
// change the rows of one segment: one end counts the units that were ever sent, the other
// those that have arrived. Whoever finds more sent than arrived completes the transfer, and
// to do so twice, or late, changes nothing. What has been sent and has not arrived is stock
// that no claim can take yet.
type transfer struct{ from, to order.Segment }

// transfers refills segments. On a database that is not sharded, a transfer is one
// transaction: nothing is under way, which older instances would not see.
type transfers struct{ cfg Config }

// locate returns s as the database finds its rows.
func (t *transfers) locate(s order.Segment) order.Segment {
	s.Sharded = t.cfg.Sharded()
	return s
}

// in returns o as an order of s.
func in(s order.Segment, o order.Order) order.Order {
	if s.Sharded {
		key := s.ShardKey()
		o.ShardKey = &key
	}
	return o
}

// Refill implements order.Committer.
func (t *transfers) Refill(ctx context.Context, to order.Segment, alone order.Alone) error {
	to = t.locate(to)
	empty := int64(-1) // the version of the coupon when it was seen without stock
	return transaction.Retry(ctx, func() error {
		richest, version, err := t.richest(ctx, to)
		if errors.Is(err, coupon.ErrSoldOut) && to.Sharded && version != empty {
			// Its segments were read one after the other. If none has got units back by the next
			// read, there were none between the two.
			empty, err = version, transaction.ErrConflict
		}
		if err != nil || richest.Segment == to {
			return err
		}
		// of n units of a segment half each time: about log n transfers
		one, half := transfer{richest.Segment, to}, (richest.n+1)/2
		return alone(ctx, one.from, func(ctx context.Context) error { return t.move(ctx, one, half) })
	})
}

// A stockRow is a segment with its stock, or what is under way to it from its Origin.
type stockRow struct {
	Origin, Segment, Units, Owned int // Origin is -1 of a segment
	Version                       int64
}

// stockRows returns the segments of a coupon, and what is under way between them.
func (t *transfers) stockRows(ctx context.Context, couponID int64) (rows []stockRow, err error) {
	const q = `
		SELECT -1 AS origin, segment, stock AS units, stock + counted AS owned, version FROM (` + coupon.StockRows + `) r
		UNION ALL SELECT origin, target, SUM(units), 0, 0 FROM coupon_transfers WHERE coupon_id = ?
		GROUP BY origin, target HAVING SUM(units) > 0`
	err = transaction.Run(ctx, t.cfg.DB, func(conn *sqlx.Conn) error { // a proxy sends it to the primary
		return conn.SelectContext(ctx, &rows, q, couponID, couponID, couponID)
	})
	if err != nil {
		return nil, fmt.Errorf("select segments: %w", err)
	}
	return rows, nil
}

// richest returns the segment with the most stock, or to if that has any. It completes the
// transfers that are under way, and then returns transaction.ErrConflict. It returns
// coupon.ErrSoldOut if it has found none of them, and no stock; the coupon then has the version.
func (t *transfers) richest(ctx context.Context, to order.Segment) (richest units, version int64, err error) {
	rows, err := t.stockRows(ctx, to.CouponID)
	if err != nil {
		return units{}, 0, err
	}
	underWay, owned := false, 0
	for _, r := range rows {
		owned, version = owned+r.Owned, version+r.Version
		s := order.Segment{CouponID: to.CouponID, Number: r.Segment, Sharded: to.Sharded}
		switch {
		case r.Origin >= 0:
			underWay = true
			from := order.Segment{CouponID: to.CouponID, Number: r.Origin, Sharded: to.Sharded}
			if err := t.complete(ctx, transfer{from, s}); err != nil {
				return units{}, 0, err
			}
		case s == to && r.Units > 0:
			return units{s, r.Units}, 0, nil
		case r.Units > richest.n:
			richest = units{s, r.Units}
		}
	}
	switch {
	case underWay, richest.n == 0 && owned > 0: // stock has moved between the reads of two shards
		return units{}, 0, transaction.ErrConflict
	case richest.n == 0:
		return units{}, version, coupon.ErrSoldOut
	}
	return richest, 0, nil
}

// move makes a transfer of n units. It returns transaction.ErrConflict if its origin has
// fewer by now, or its target has some.
func (t *transfers) move(ctx context.Context, one transfer, n int) error {
	if one.to.Sharded {
		err := transaction.Run(ctx, t.cfg.DB, func(conn *sqlx.Conn) error { return one.send(ctx, conn, n) })
		if err != nil {
			return err
		}
		return t.complete(ctx, one)
	}
	steps := []func(context.Context, *sqlx.Conn, int) error{one.take, one.put}
	if one.from.Compare(one.to) > 0 { // rows are locked in the order in which claims lock them
		slices.Reverse(steps)
	}
	return transaction.Run(ctx, t.cfg.DB, func(conn *sqlx.Conn) error {
		for _, step := range steps {
			if err := step(ctx, conn, n); err != nil {
				return err
			}
		}
		return nil
	})
}

// complete lets what has been sent arrive.
func (t *transfers) complete(ctx context.Context, one transfer) error {
	sent, err := one.units(ctx, t.cfg.DB, one.from)
	if err != nil {
		return err
	}
	return transaction.Run(ctx, t.cfg.DB, func(conn *sqlx.Conn) error { return one.receive(ctx, conn, sent) })
}

func (t transfer) send(ctx context.Context, conn *sqlx.Conn, n int) error {
	if err := t.take(ctx, conn, n); err != nil {
		return err
	}
	return t.count(ctx, conn, t.from, n)
}

// receive adds what has not arrived yet of the units that were ever sent. The row of the
// target's stock is locked first, so that no other transaction counts them meanwhile.
func (t transfer) receive(ctx context.Context, conn *sqlx.Conn, sent int) error {
	if _, err := selectStock(ctx, conn, t.to, ` FOR UPDATE`); err != nil {
		return err
	}
	arrived, err := t.units(ctx, conn, t.to)
	if err != nil {
		return err
	}
	due := sent + arrived
	if due <= 0 {
		return nil
	}
	if err := changeStock(ctx, conn, t.to, due, `TRUE`); err != nil {
		return err
	}
	return t.count(ctx, conn, t.to, -due)
}

func (t transfer) take(ctx context.Context, conn *sqlx.Conn, n int) error {
	return changeStock(ctx, conn, t.from, -n, `stock >= ?`, n)
}

func (t transfer) put(ctx context.Context, conn *sqlx.Conn, n int) error {
	return changeStock(ctx, conn, t.to, n, `stock < 1`)
}

// changeStock adds n units to the stock of a segment on a condition. It returns
// transaction.ErrConflict if that is not met.
func changeStock(ctx context.Context, conn *sqlx.Conn, s order.Segment, n int, condition string, args ...any) error {
	changed, err := s.Update(`stock = stock + ?`, []any{n}, condition, args...).Exec(ctx, conn, updateStock)
	if err == nil && changed == 0 {
		return transaction.ErrConflict
	}
	return err
}

// units returns how many units one end has counted: the origin those sent, the target
// those that have arrived, as a negative number.
func (t transfer) units(ctx context.Context, db sqlx.QueryerContext, end order.Segment) (n int, err error) {
	const q = `
		SELECT COALESCE(SUM(units), 0) FROM coupon_transfers
		WHERE coupon_id = ? AND segment = ? AND origin = ? AND target = ? AND shard_key = ?`
	err = sqlx.GetContext(ctx, db, &n, q, end.CouponID, end.Number, t.from.Number, t.to.Number, end.ShardKey())
	if err != nil {
		return 0, fmt.Errorf("select transfer: %w", err)
	}
	return n, nil
}

// count adds to the units that one end has counted. The row of its stock is locked.
func (t transfer) count(ctx context.Context, conn *sqlx.Conn, end order.Segment, n int) error {
	const q = `
		INSERT INTO coupon_transfers (coupon_id, segment, origin, target, shard_key, units) VALUES (?, ?, ?, ?, ?, ?)
		ON DUPLICATE KEY UPDATE units = units + ?`
	_, err := conn.ExecContext(ctx, q, end.CouponID, end.Number, t.from.Number, t.to.Number, end.ShardKey(), n, n)
	if err != nil {
		return fmt.Errorf("count transfer: %w", err)
	}
	return nil
}
