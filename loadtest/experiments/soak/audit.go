package soak

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/jmoiron/sqlx"

	"example.com/flashsale/loadtest/rig"
)

// auditAlways audits the database again and again. It pauses while the database
// is unavailable.
func (r *run) auditAlways(ctx context.Context) error {
	for rig.Sleep(ctx, time.Second) {
		orders := r.history.takeUnchecked()
		err := r.checkAccounts(ctx)
		if err == nil {
			err = r.checkOrders(ctx, orders)
		}
		if err != nil {
			r.history.putBack(orders)
		}
	}
	return nil
}

// checkAccounts compares stock and orders. One statement reads both at one
// instant, so they must add up at all times and not only at rest.
func (r *run) checkAccounts(ctx context.Context) error {
	accounts, err := r.sale.Accounts(ctx)
	for _, a := range accounts {
		switch {
		case a.Stock < 0 || a.Oversold() > 0:
			r.violations.add("I1: oversold: %+v", a)
		case a.Duplicates() != 0:
			r.violations.add("I2: more than one each: %+v", a)
		case !a.Balanced():
			r.violations.add("I3: stock and orders do not add up: %+v", a)
		}
	}
	return err
}

// checkOrders looks up orders in the database. Each must be there and belong to
// the user and the coupon of its claim.
func (r *run) checkOrders(ctx context.Context, orders map[int64]claim) error {
	const perStatement = 2000
	for ids := range slices.Chunk(slices.Collect(maps.Keys(orders)), perStatement) {
		found, err := r.findOrders(ctx, ids)
		if err != nil {
			return err
		}
		for _, id := range ids {
			if found[id] != orders[id] {
				r.violations.add("I3: order %d was acknowledged to %+v; the database has %+v", id,
					orders[id], found[id])
			}
		}
	}
	return nil
}

func (r *run) findOrders(ctx context.Context, ids []int64) (map[int64]claim, error) {
	q, args, err := sqlx.In("SELECT id, user_id, coupon_id FROM coupon_orders WHERE id IN (?)", ids)
	if err != nil {
		return nil, err
	}
	var rows []struct {
		ID     int64 `db:"id"`
		User   int64 `db:"user_id"`
		Coupon int64 `db:"coupon_id"`
	}
	if err := r.sale.DB.SelectContext(ctx, &rows, q, args...); err != nil {
		return nil, fmt.Errorf("find orders: %w", err)
	}
	found := make(map[int64]claim, len(rows))
	for _, row := range rows {
		found[row.ID] = claim{row.User, row.Coupon}
	}
	return found, nil
}

// settle runs when no load is left. It repeats each claim that has no verdict,
// sells out every coupon and audits everything once more.
func (r *run) settle(ctx context.Context) error {
	r.log("settle")
	if !rig.Sleep(ctx, 2*time.Second) { // nginx tries a failed instance again after two seconds
		return ctx.Err()
	}
	r.claimAll(ctx, r.history.withoutVerdict(), func(c claim, verdict string) {
		if verdict == unknown {
			r.violations.add("the service does not recover: no verdict on %+v", c)
		}
	})
	for _, coupon := range append(r.coupons.all(), r.steady) {
		if err := r.sellOut(ctx, coupon); err != nil {
			return err
		}
	}
	if err := r.checkAccounts(ctx); err != nil {
		return err
	}
	return r.checkOrders(ctx, r.history.orders())
}
