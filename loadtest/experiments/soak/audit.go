package soak

import (
	"context"
	"time"

	"example.com/flashsale/loadtest/generator"
	"example.com/flashsale/loadtest/rig"
	"example.com/flashsale/loadtest/trial"
)

// auditAlways audits the database again and again. It pauses while the database
// is unavailable.
func auditAlways(ctx context.Context, m *market) {
	audited, changed := 0, 0
	for rig.Sleep(ctx, time.Second) {
		told, made := m.Told(audited), m.Final(changed)
		if audit(ctx, m, told, made) == nil {
			audited, changed = audited+len(told), changed+len(made)
		}
		_ = m.events.read(ctx) // nothing is lost: the next time reads on
	}
}

// audit compares stock and orders of all coupons, and looks up the orders and the changes
// that users were told of. One statement reads stock and orders at one instant, so they
// must add up at all times and not only at rest.
func audit(ctx context.Context, m *market, told []rig.Claim, made []trial.Operation) error {
	accounts, err := m.Accounts(ctx)
	if err != nil {
		return err
	}
	for _, broken := range rig.Broken(accounts...) {
		m.Violations.Add("%s", broken)
	}
	missing, err := m.Missing(ctx, told)
	for _, c := range missing {
		m.Violations.Add("I3: the database does not have the order of %+v", c)
	}
	if err != nil {
		return err
	}
	return auditLife(ctx, m, made)
}

// settle runs when no load is left. It repeats each claim that has no verdict, waits until
// every hold is over, sells out every coupon and audits everything once more.
func settle(ctx context.Context, m *market) error {
	m.log("settle")
	m.settled = time.Now()
	if !rig.Sleep(ctx, 2*time.Second) { // nginx tries a failed instance again after two seconds
		return ctx.Err()
	}
	if err := repeatUnknown(ctx, m); err != nil {
		return err
	}
	if err := awaitExpiry(ctx, m); err != nil {
		return err
	}
	for _, c := range append(m.coupons.all(), coupon{id: m.steady}) {
		if err := sellOut(ctx, m, c.id); err != nil {
			return err
		}
	}
	if err := audit(ctx, m, m.Told(0), m.Final(0)); err != nil {
		return err
	}
	return m.events.audit(ctx, m)
}

// repeatUnknown repeats each claim of which a client does not know the outcome. It
// must get a verdict.
func repeatUnknown(ctx context.Context, m *market) error {
	var unknown []rig.Claim
	seen := map[rig.Claim]bool{}
	for _, c := range m.Claims() {
		if one := (rig.Claim{User: c.User, Coupon: c.Coupon, Number: c.Number}); c.Failed() && !seen[one] {
			seen[one] = true
			unknown = append(unknown, one)
		}
	}
	_, err := decide(ctx, m, unknown)
	return err
}

// attempts bounds how often a claim without a verdict is sent. The disk of a busy machine can
// stand still for longer than the service may take.
const attempts = 5

// decide sends claims until each has a verdict, which it must get, and returns the replies.
func decide(ctx context.Context, m *market, claims []rig.Claim) (decided []rig.Claim, err error) {
	for n := 0; n < attempts && len(claims) > 0; n++ {
		got, err := m.Client.Claims(ctx, generator.Phase{Clients: userLoops, Count: len(claims)},
			func(n int) rig.Claim { return claims[n] })
		if err != nil {
			return nil, err
		}
		claims = nil
		for _, c := range got {
			if c.Failed() {
				claims = append(claims, rig.Claim{User: c.User, Coupon: c.Coupon, Number: c.Number})
			} else {
				decided = append(decided, c)
			}
		}
	}
	for _, c := range claims {
		m.Violations.Add("the service does not recover: no verdict on %+v", c)
	}
	return decided, nil
}

// sellOut sends claims of more new users than a coupon has units left. All units
// must be sold (I3), and only the other claims may be refused.
func sellOut(ctx context.Context, m *market, coupon int64) error {
	left, err := m.Stock(ctx, coupon)
	if err != nil {
		return err
	}
	const beyond = 20
	var all []rig.Claim
	for range left + beyond {
		all = append(all, rig.Claim{User: m.newUser(), Coupon: coupon})
	}
	claims, err := decide(ctx, m, all)
	if err != nil {
		return err
	}
	count := map[string]int{}
	for _, c := range claims {
		count[c.Verdict]++
	}
	// a claim that is repeated may have its order already
	if count[rig.Accepted]+count["already_claimed"] != left || count["sold_out"] != beyond {
		m.Violations.Add("I3: coupon %d had %d left, and %d new users got %v", coupon, left, left+beyond, count)
	}
	return nil
}
