package soak

import (
	"context"
	"slices"
	"time"

	"example.com/flashsale/loadtest/rig"
	"example.com/flashsale/loadtest/trial"
)

// lateRefusals are the codes that a use or a return may be refused with.
var lateRefusals = []string{"already_used", "order_returned", "order_expired"}

// change changes or reads the order that the owner of a claim was told of last, if there is one.
func (m *market) change(ctx context.Context, of rig.Claim, do func(context.Context, rig.Claim) trial.Operation) {
	if of.Order = m.Order(of); of.Order == "" {
		return
	}
	o := do(ctx, of)
	if !trial.Accepted(o.Claim) && !o.Failed() && !slices.Contains(lateRefusals, o.Verdict) {
		m.Violations.Add("%s of order %s, which its user was told of: %s", o.Kind, o.Order, o.Verdict)
	}
}

// madeIn reports whether o has a use or a return, which is final.
func madeIn(o rig.Order, change trial.Operation) bool {
	if change.Kind == trial.Return {
		return o.How == "returned"
	}
	return o.How == "" && o.UsedRef == change.Reference
}

// auditLife looks up changes, and what no order may be.
func auditLife(ctx context.Context, m *market, made []trial.Operation) error {
	var ids []string
	for _, c := range made {
		ids = append(ids, c.Order)
	}
	orders, err := m.OrdersByID(ctx, ids)
	if err != nil {
		return err
	}
	for _, c := range made {
		if !madeIn(orders[c.Order], c) {
			m.Violations.Add("I4: %+v was acknowledged, and the database has %+v", c, orders[c.Order])
		}
	}
	var both int
	err = m.DB.GetContext(ctx, &both, `SELECT COUNT(*) FROM coupon_orders_ended e JOIN coupon_orders o ON o.id = e.id`)
	if both > 0 {
		m.Violations.Add("I4: %d orders count and have ended", both)
	}
	return err
}

// awaitExpiry waits until every hold is over, and the units are back.
func awaitExpiry(ctx context.Context, m *market) error {
	const sweepLimit = 5 * time.Second
	m.log("wait until every hold is over")
	left, err := m.AwaitExpiry(ctx, hold+sweepLimit)
	if left > 0 && err == nil {
		m.Violations.Add("I3: %d orders should have expired for longer than %s", left, sweepLimit)
	}
	return err
}
