package soak

import (
	"context"
	"time"

	"example.com/flashsale/loadtest/generator"
	"example.com/flashsale/loadtest/rig"
)

// auditAlways audits the database again and again. It pauses while the database
// is unavailable.
func auditAlways(ctx context.Context, m *market) {
	audited := 0
	for rig.Sleep(ctx, time.Second) {
		told := m.history.Told(audited)
		if audit(ctx, m, told) == nil {
			audited += len(told)
		}
	}
}

// audit compares stock and orders of all coupons, and looks up the orders that
// users were told of. One statement reads stock and orders at one instant, so they
// must add up at all times and not only at rest.
func audit(ctx context.Context, m *market, told []rig.Claim) error {
	accounts, err := m.sale.Accounts(ctx)
	if err != nil {
		return err
	}
	for _, a := range accounts {
		switch {
		case a.Stock < 0 || a.Oversold() > 0:
			m.violations.Add("I1: oversold: %+v", a)
		case a.Duplicates != 0:
			m.violations.Add("I2: more than one each: %+v", a)
		case !a.Balanced():
			m.violations.Add("I3: stock and orders do not add up: %+v", a)
		}
	}
	missing, err := m.sale.Missing(ctx, told)
	for _, c := range missing {
		m.violations.Add("I3: the database does not have the order of %+v", c)
	}
	return err
}

// settle runs when no load is left. It repeats each claim that has no verdict,
// sells out every coupon and audits everything once more.
func settle(ctx context.Context, m *market) error {
	m.log("settle")
	if !rig.Sleep(ctx, 2*time.Second) { // nginx tries a failed instance again after two seconds
		return ctx.Err()
	}
	if err := repeatUnknown(ctx, m); err != nil {
		return err
	}
	for _, coupon := range append(m.coupons.all(), m.steady) {
		if err := sellOut(ctx, m, coupon); err != nil {
			return err
		}
	}
	return audit(ctx, m, m.history.Told(0))
}

// repeatUnknown repeats each claim of which a client does not know the outcome. It
// must get a verdict.
func repeatUnknown(ctx context.Context, m *market) error {
	var unknown []rig.Claim
	seen := map[[2]int64]bool{}
	for _, c := range m.history.Claims() {
		if owner := [2]int64{c.User, c.Coupon}; c.Failed() && !seen[owner] {
			seen[owner] = true
			unknown = append(unknown, c)
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	again, err := m.claimAll(ctx, m.nginx, generator.Phase{Clients: userLoops, Count: len(unknown)},
		func(n int) (user, coupon int64) { return unknown[n].User, unknown[n].Coupon })
	for _, c := range again {
		if c.Failed() {
			m.violations.Add("the service does not recover: no verdict on %+v", c)
		}
	}
	return err
}

// sellOut sends claims of more new users than a coupon has units left. All units
// must be sold (I3), and only the other claims may be refused.
func sellOut(ctx context.Context, m *market, coupon int64) error {
	left, err := m.sale.Stock(ctx, coupon)
	if err != nil {
		return err
	}
	const beyond = 20
	claims, err := m.claimAll(ctx, m.nginx, generator.Phase{Clients: userLoops, Count: left + beyond},
		func(int) (user, of int64) { return m.newUser(), coupon })
	if err != nil {
		return err
	}
	count := map[string]int{}
	for _, c := range claims {
		count[c.Verdict]++
	}
	if count[rig.Accepted] != left || count["sold_out"] != beyond {
		m.violations.Add("I3: coupon %d had %d left, and %d new users got %v", coupon, left, left+beyond, count)
	}
	return nil
}
