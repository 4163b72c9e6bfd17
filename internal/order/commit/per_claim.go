package commit

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/jmoiron/sqlx"

	"example.com/flashsale/internal/admission"
	"example.com/flashsale/internal/admission/slots"
	"example.com/flashsale/internal/order"
	"example.com/flashsale/internal/transaction"
)

// perClaim commits each order in a transaction of its own, in the articles'
// sequence: look for an order of the user, decrement the stock, insert the
// order.
type perClaim struct {
	transfers // with the Config
	decrement decrementFunc
	slots     *slots.Slots // the pool's connections: a coupon whose row is locked must not take all
}

func newPerClaim(c Config, decrement decrementFunc) *perClaim {
	return &perClaim{transfers{cfg: c}, decrement, slots.New(c.connections(), 0)}
}

func (p *perClaim) Commit(ctx context.Context, s order.Segment, o order.Order) error {
	if _, err := p.slots.Acquire(ctx, o.CouponID); err != nil {
		return admission.WaitedInVain(ctx, err)
	}
	defer p.slots.Release(o.CouponID)
	start := time.Now()
	s = p.locate(s)
	err := p.commit(ctx, s, in(s, o))
	p.cfg.Ended(single(start, err))
	return err
}

func (p *perClaim) commit(ctx context.Context, s order.Segment, o order.Order) error {
	err := transaction.RunRetrying(ctx, p.cfg.DB, func(conn *sqlx.Conn) error { return p.apply(ctx, conn, s, o) })
	switch {
	case errors.Is(err, transaction.ErrUnknown):
		return readBack(ctx, p.cfg.DB, o, err)
	case transaction.HasNumber(err, transaction.DuplicateKey):
		// A concurrent claim of the user was committed first, or the id is taken.
		if err := checkUnclaimed(ctx, p.cfg.DB, &o); err != nil {
			return err
		}
		return order.ErrIDTaken
	}
	return err
}

func (p *perClaim) apply(ctx context.Context, conn *sqlx.Conn, s order.Segment, o order.Order) error {
	check := checkUnclaimed
	if p.cfg.Counted {
		check = countOrders
	}
	if err := check(ctx, conn, &o); err != nil {
		return err
	}
	if err := p.decrement(ctx, conn, s); err != nil {
		return err
	}
	placed := &pending{Order: o}
	if _, err := insertStatement(placed).Exec(ctx, conn, "insert order"); err != nil {
		return err
	}
	return tellOf(ctx, conn, p.cfg.Outbox, placed)
}

func (p *perClaim) Close() {}

// checkUnclaimed returns an *order.AlreadyClaimedError if the claimant has an order.
func checkUnclaimed(ctx context.Context, db sqlx.QueryerContext, o *order.Order) error {
	column, key := o.Shard()
	q := `SELECT id FROM coupon_orders WHERE coupon_id = ? AND user_id = ? AND number = ? AND ` + column + ` = ? LIMIT 1`
	var id int64
	switch err := sqlx.GetContext(ctx, db, &id, q, o.CouponID, o.UserID, o.Number, key); {
	case err == nil:
		return &order.AlreadyClaimedError{OrderID: id}
	case errors.Is(err, sql.ErrNoRows):
		return nil
	default:
		return fmt.Errorf("select order: %w", err)
	}
}

// countOrders gives o the number after those of the orders that it counts, or returns an
// *order.LimitReachedError: count, then insert, as shops do whose client chooses no number.
func countOrders(ctx context.Context, db sqlx.QueryerContext, o *order.Order) error {
	const q = `
		SELECT COUNT(*) AS held, COALESCE((SELECT per_user FROM coupon_rules WHERE coupon_id = ?), 1) AS allowed
		FROM coupon_orders WHERE coupon_id = ? AND user_id = ?`
	var found struct{ Held, Allowed int }
	if err := sqlx.GetContext(ctx, db, &found, q, o.CouponID, o.CouponID, o.UserID); err != nil {
		return fmt.Errorf("count orders: %w", err)
	}
	if found.Held >= found.Allowed {
		return &order.LimitReachedError{PerUser: found.Allowed}
	}
	o.Number = found.Held + 1
	return nil
}
