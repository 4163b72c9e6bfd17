package commit

import (
	"context"
	"errors"
	"fmt"

	"github.com/jmoiron/sqlx"

	"example.com/flashsale/internal/coupon"
	"example.com/flashsale/internal/order"
	"example.com/flashsale/internal/order/events"
	"example.com/flashsale/internal/transaction"
)

// errStockElsewhere says that the stock that was read, with the row locked, is
// not the stock that is updated: a proxy has sent the read to another server.
var errStockElsewhere = errors.New("stock was read from another server")

// errNonePlaced ends a transaction that has nothing to commit.
var errNonePlaced = errors.New("no order placed")

// placeSome commits the orders that can be placed, and refuses the others, step by step. It
// inserts the orders, then decrements the stocks. All instances contend for the
// coupons' rows; in this order they are locked only until the commit.
func (b *batch) placeSome(ctx context.Context, db *sqlx.DB) error {
	return transaction.Run(ctx, db, func(conn *sqlx.Conn) error { return b.place(ctx, conn) })
}

func (b *batch) place(ctx context.Context, conn *sqlx.Conn) error {
	b.placed, b.refused = nil, map[*pending]error{}
	inserted, err := b.insertOrders(ctx, conn)
	if err != nil {
		return err
	}
	b.placed, err = b.decrementStocks(ctx, conn, inserted)
	switch {
	case err != nil:
		return err
	case len(b.placed) == 0:
		return errNonePlaced
	}
	return tellOf(ctx, conn, b.outbox, b.placed...)
}

// tellOf inserts when orders that were placed expire, and their event.
func tellOf(ctx context.Context, conn *sqlx.Conn, outbox events.Outbox, placed ...*pending) error {
	if _, err := holdsStatement(placed...).Exec(ctx, conn, "insert holds"); err != nil {
		return err
	}
	_, err := outbox.Statement(order.Claimed, ordersOf(placed)).Exec(ctx, conn, events.Insert)
	return err
}

// insertNew inserts orders, but leaves out those whose claimant has one. INSERT IGNORE would ignore
// every other error as well.
func insertNew(ctx context.Context, conn *sqlx.Conn, orders ...*pending) (inserted int, err error) {
	s := insertStatement(orders...)
	s.SQL += ` ON DUPLICATE KEY UPDATE id = id`
	return s.Exec(ctx, conn, "insert orders")
}

// insertOrders inserts each order whose claimant has none, and returns those.
func (b *batch) insertOrders(ctx context.Context, conn *sqlx.Conn) (inserted []*pending, err error) {
	switch n, err := insertNew(ctx, conn, sortByKey(b.orders)...); {
	case transaction.IsOfRow(err):
		return b.insertEach(ctx, conn)
	case err != nil || n == len(b.orders):
		return b.orders, err
	}
	return b.splitDuplicates(ctx, conn)
}

// insertEach is insertOrders with a statement for each order: the server refuses one of
// them, and does not tell which.
func (b *batch) insertEach(ctx context.Context, conn *sqlx.Conn) (inserted []*pending, err error) {
	for _, p := range sortByKey(b.orders) {
		if _, err := insertNew(ctx, conn, p); transaction.IsOfRow(err) {
			b.refused[p] = err
		} else if err != nil {
			return nil, err
		}
	}
	return b.splitDuplicates(ctx, conn)
}

// splitDuplicates returns the orders that were inserted, and refuses those that are not
// yet and whose claimant or id had an order already.
func (b *batch) splitDuplicates(ctx context.Context, conn *sqlx.Conn) (inserted []*pending, err error) {
	q, args := b.selectOrdersStatement()
	var stored []order.Order
	if err := conn.SelectContext(ctx, &stored, q, args...); err != nil {
		return nil, fmt.Errorf("select orders: %w", err)
	}
	type key struct {
		couponID int64
		order.Claimant
	}
	orders := make(map[key]order.Order, len(stored))
	for _, o := range stored {
		orders[key{o.CouponID, o.Claimant}] = o
	}
	own := map[int64]bool{} // an id may have been given twice, in this batch or before it
	for _, p := range b.orders {
		switch o, found := orders[key{p.CouponID, p.Claimant}]; {
		case b.refused[p] != nil:
		case !found:
			b.refused[p] = order.ErrIDTaken
		case o.ID != p.ID || !o.CreatedAt.Equal(p.CreatedAt) || own[o.ID]:
			b.refused[p] = &order.AlreadyClaimedError{OrderID: o.ID}
		default:
			inserted, own[o.ID] = append(inserted, p), true
		}
	}
	return inserted, nil
}

// decrementStocks takes one unit for each inserted order. If a segment does not
// cover them all, its earliest ones are placed; the others are refused and deleted.
func (b *batch) decrementStocks(
	ctx context.Context, conn *sqlx.Conn, inserted []*pending,
) (placed []*pending, err error) {
	bySegment := map[order.Segment][]*pending{}
	for _, p := range inserted {
		bySegment[p.segment] = append(bySegment[p.segment], p)
	}
	var late []*pending
	for _, p := range b.parts {
		wanted := bySegment[p.queue.segment]
		n, err := takeStock(ctx, conn, p.queue.segment, len(wanted))
		if err != nil {
			return nil, err
		}
		placed, late = append(placed, wanted[:n]...), append(late, wanted[n:]...)
	}
	b.refuse(late)
	if len(placed) == 0 {
		return nil, nil // the rollback removes them
	}
	if len(late) > 0 {
		_, err = order.DeleteStatement(ordersOf(late), "TRUE").Exec(ctx, conn, "delete orders")
	}
	return placed, err
}

// takeStock takes up to n units of a segment, and returns how many.
func takeStock(ctx context.Context, conn *sqlx.Conn, s order.Segment, n int) (int, error) {
	if n == 0 {
		return 0, nil
	}
	stock, err := selectStock(ctx, conn, s, ` FOR UPDATE`)
	if err != nil || stock < 1 {
		return 0, err
	}
	n = min(n, stock)
	changed, err := decrementStatement(s, n).Exec(ctx, conn, updateStock)
	if err == nil && changed != 1 {
		err = errStockElsewhere
	}
	return n, err
}

// refuse marks the late orders sold out, and also the duplicates that refer to
// them.
func (b *batch) refuse(late []*pending) {
	deleted := make(map[int64]bool, len(late))
	for _, p := range late {
		b.refused[p], deleted[p.ID] = coupon.ErrSoldOut, true
	}
	for p, err := range b.refused {
		if duplicate, ok := errors.AsType[*order.AlreadyClaimedError](err); ok && deleted[duplicate.OrderID] {
			b.refused[p] = coupon.ErrSoldOut
		}
	}
}
