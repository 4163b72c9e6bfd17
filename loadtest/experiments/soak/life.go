package soak

import (
	"context"
	"crypto/rand"
	"net/http"
	"slices"
	"sync"
	"time"

	"example.com/flashsale/loadtest/rig"
)

// A change is a use or a return that a client was told was made: it is final.
type change struct {
	order     string
	reference string // of the use; empty: it was returned
}

// madeIn reports whether o has the change.
func (c change) madeIn(o rig.Order) bool {
	if c.reference == "" {
		return o.How == "returned"
	}
	return o.How == "" && o.UsedRef == c.reference
}

// changes are those of all clients.
type changes struct {
	mu  sync.Mutex
	all []change
}

func (c *changes) add(one change) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all = append(c.all, one)
}

// since returns the changes without the first n.
func (c *changes) since(n int) []change {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.all[n:])
}

// lateRefusals are the codes that a use or a return may be refused with.
var lateRefusals = []string{"already_used", "order_returned", "order_expired"}

// readOrder reads the order that the owner of c was told of last, if there is one.
func (m *market) readOrder(ctx context.Context, c client, of rig.Claim) {
	m.call(ctx, c, of, http.MethodGet, "", m.signer.User(of.User), nil)
}

// giveUp returns it.
func (m *market) giveUp(ctx context.Context, c client, of rig.Claim) {
	if id, made := m.call(ctx, c, of, http.MethodDelete, "", m.signer.User(of.User), nil); made {
		m.changes.add(change{order: id})
	}
}

// use uses it.
func (m *market) use(ctx context.Context, c client, of rig.Claim) {
	reference := rand.Text()
	body := map[string]string{"reference": reference}
	if id, made := m.call(ctx, c, of, http.MethodPut, "/use", m.signer.Admin(), body); made {
		m.changes.add(change{id, reference})
	}
}

// call sends a request about the order that the owner of a claim was told of last, and
// reports whether it was told that it was made.
func (m *market) call(
	ctx context.Context, c client, of rig.Claim, method, path, token string, body any,
) (id string, made bool) {
	if id = m.Order(of); id == "" {
		return "", false
	}
	switch verdict := c.Ask(ctx, method, "/orders/"+id+path, token, body); {
	case verdict == rig.Accepted:
		return id, true
	case (rig.Claim{Verdict: verdict}).Failed(): // it may have been made
	case !slices.Contains(lateRefusals, verdict):
		m.Violations.Add("%s of order %s, which its user was told of: %s", method+path, id, verdict)
	}
	return id, false
}

// auditLife looks up changes, and what no order may be.
func auditLife(ctx context.Context, m *market, made []change) error {
	var ids []string
	for _, c := range made {
		ids = append(ids, c.order)
	}
	orders, err := m.sale.OrdersByID(ctx, ids)
	if err != nil {
		return err
	}
	for _, c := range made {
		if !c.madeIn(orders[c.order]) {
			m.Violations.Add("I4: %+v was acknowledged, and the database has %+v", c, orders[c.order])
		}
	}
	const both = `SELECT COUNT(*) FROM coupon_orders_ended e JOIN coupon_orders o ON o.id = e.id`
	var n int
	if err := m.sale.DB.GetContext(ctx, &n, both); err != nil {
		return err
	}
	if n > 0 {
		m.Violations.Add("I4: %d orders count and have ended", n)
	}
	return nil
}

// awaitExpiry waits until every hold is over, and the units are back.
func awaitExpiry(ctx context.Context, m *market) error {
	const sweepLimit = 5 * time.Second
	m.log("wait until every hold is over")
	if !rig.Sleep(ctx, hold+sweepLimit) {
		return ctx.Err()
	}
	const q = `SELECT COUNT(*) FROM coupon_orders WHERE used_at IS NULL AND expires_at <= UTC_TIMESTAMP(3) - INTERVAL 5 SECOND`
	var n int
	if err := m.sale.DB.GetContext(ctx, &n, q); err != nil {
		return err
	}
	if n > 0 {
		m.Violations.Add("I3: %d orders should have expired for longer than %s", n, sweepLimit)
	}
	return nil
}
