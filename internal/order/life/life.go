// Package life changes orders after their claim: an order is used, returned, or expires.
//
// Each transition is one conditional statement whose row count is the verdict, so of two
// that race one wins, and the other is told which. An order that ends moves from
// coupon_orders to coupon_orders_ended in the transaction that gives its unit back; no
// lock is needed for it, because a unit goes back only with the row that counted.
package life

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/jmoiron/sqlx"

	"example.com/flashsale/internal/coupon"
	"example.com/flashsale/internal/order"
	"example.com/flashsale/internal/order/events"
	"example.com/flashsale/internal/transaction"
)

// Orders changes the orders of a database.
type Orders struct {
	db      *sqlx.DB
	store   *order.Store
	coupons *coupon.Cache
	outbox  events.Outbox
	changed func(to order.State, orders int)
	lab     *Unguarded      // nil outside the lab
	ctx     context.Context // ends at Close
	cancel  context.CancelFunc
	sweeps  sync.WaitGroup
}

// New returns the Orders of db. Coupons is reloaded when units come back. Changed, which
// may be nil, is called after each commit that has brought orders to a state, by several
// goroutines at once, but not if the reply to the commit was lost.
func New(
	db *sqlx.DB, coupons *coupon.Cache, outbox events.Outbox, changed func(to order.State, orders int),
) *Orders {
	if changed == nil {
		changed = func(order.State, int) {}
	}
	s := &Orders{db: db, store: order.NewStore(db), coupons: coupons, outbox: outbox, changed: changed}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s
}

// Unguarded is how a shop ends orders that reads their state, then writes, whatever has
// happened in between. It is for the lab.
type Unguarded struct {
	// Locked calls do with the lock of a user. Returns take it, expiries do not.
	Locked func(ctx context.Context, userID int64, do func(context.Context) error) error
	Pause  time.Duration // of a return and a use, between reading and writing: the refund, the payment
}

// Unguard takes the guards away. It must be called first.
func (s *Orders) Unguard(u Unguarded) { s.lab = &u }

// A Caller is who wants to change an order.
type Caller struct {
	UserID int64
	Admin  bool
}

// Use marks an order used, by a user and with a reference of 1 to 64 printable ASCII
// characters that names this use. Repeated with the same reference it returns the same
// order. The error is order.ErrNotFound, order.ErrReturned, order.ErrExpired, a
// *order.UsedError if it was used with another reference, or wraps order.ErrOutcomeUnknown.
func (s *Orders) Use(ctx context.Context, id, by int64, reference string) (order.Order, error) {
	if s.lab != nil {
		return s.useUnguarded(ctx, id, by, reference)
	}
	used := 0
	err := transaction.RunRetrying(ctx, s.db, func(conn *sqlx.Conn) (err error) {
		used, err = s.use(ctx, conn, id, by, reference)
		return err
	})
	if err == nil {
		s.changed(order.Used, used)
	}
	if err != nil && !errors.Is(err, transaction.ErrUnknown) {
		return order.Order{}, unknown("use", id, err)
	}
	o, err2 := s.store.Find(ctx, id) // also what a lost reply has done
	switch {
	case err2 == nil && o.State == order.Used && o.UsedRef != nil && *o.UsedRef == reference:
		return o, nil
	case used > 0 || o.State == order.Claimed || err2 != nil && !errors.Is(err2, order.ErrNotFound):
		return order.Order{}, unknown("use", id, errors.Join(err, err2, errNotSeen))
	case err2 != nil:
		return order.Order{}, err2
	}
	return order.Order{}, verdict(o)
}

// errSeveral says that shards of vtgate have orders with the same id, each with a primary key
// of its own.
var errSeveral = errors.New("several orders have this id")

// use marks an order used, if it is claimed. It returns how many orders it has marked.
func (s *Orders) use(ctx context.Context, conn *sqlx.Conn, id, by int64, reference string) (int, error) {
	const update = `
		UPDATE coupon_orders SET used_at = UTC_TIMESTAMP(3), used_by = ?, used_ref = ?
		WHERE id = ? AND used_at IS NULL AND (expires_at IS NULL OR expires_at > UTC_TIMESTAMP(3))`
	locked, err := lock(ctx, conn, `id = ?`, id)
	switch {
	case err != nil || len(locked) == 0:
		return 0, err
	case len(locked) > 1:
		return 0, errSeveral
	}
	used, err := transaction.Statement{SQL: update, Args: []any{by, reference, id}}.Exec(ctx, conn, "update order")
	if err == nil && used > 0 {
		_, err = s.outbox.Statement(order.Used, slices.Values(locked)).Exec(ctx, conn, events.Insert)
	}
	return used, err
}

// lock locks orders that count. The clock of a statement stands still while it waits for a row: without the lock, an
// order could be used after others have been told that it has expired.
func lock(ctx context.Context, conn *sqlx.Conn, condition string, args ...any) (orders []order.Order, err error) {
	const find = `SELECT ` + order.InsertColumns + ` FROM coupon_orders WHERE `
	if err := conn.SelectContext(ctx, &orders, find+condition+` FOR UPDATE`, args...); err != nil {
		return nil, fmt.Errorf("lock order: %w", err)
	}
	return orders, nil
}

// useUnguarded says that a claimed order is used, without looking whether it still was.
func (s *Orders) useUnguarded(ctx context.Context, id, by int64, reference string) (order.Order, error) {
	const update = `UPDATE coupon_orders SET used_at = UTC_TIMESTAMP(3), used_by = ?, used_ref = ? WHERE id = ?`
	o, err := s.store.Find(ctx, id)
	if err != nil || o.State != order.Claimed {
		return order.Order{}, cmp.Or(err, verdict(o))
	}
	_ = transaction.Pause(ctx, s.lab.Pause)
	if _, err := s.db.ExecContext(ctx, update, by, reference, id); err != nil {
		return order.Order{}, unknown("use", id, err)
	}
	now := time.Now().UTC()
	o.State, o.UsedAt, o.UsedBy, o.UsedRef = order.Used, &now, &by, &reference
	return o, nil
}

// errNotSeen says that the order is as it was before: the transaction may not have been
// executed yet, or a server was read that lags.
var errNotSeen = errors.New("the change is not seen")

// verdict returns why an order cannot be used or returned.
func verdict(o order.Order) error {
	switch o.State {
	case order.Used:
		return &order.UsedError{At: *o.UsedAt}
	case order.Returned:
		return order.ErrReturned
	case order.Expired:
		return order.ErrExpired
	}
	return unknown("change", o.ID, errNotSeen)
}

// unknown returns the error of a change that may have been made.
func unknown(what string, id int64, err error) error {
	return fmt.Errorf("%w: %s order %d: %w", order.ErrOutcomeUnknown, what, id, err)
}
