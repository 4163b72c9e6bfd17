package bench

import (
	"context"
	"fmt"
	"time"

	"example.com/flashsale/internal/lab"
	"example.com/flashsale/loadtest/rig"
)

// A deployment is one server, or two behind nginx, on a sale of its own.
type deployment struct {
	variant
	address  string // host:port
	sale     *rig.Sale
	instance *lab.API // nil behind nginx
	segments int      // of the coupons that claim creates; 0 is 1
}

const unlimitedStock = 100_000_000 // no run claims so many

// A variant is one implementation of the claim endpoint: a program with its
// settings.
type variant struct {
	name     string
	program  string // of bin/
	settings []string
}

// The variants that several sections measure.
var (
	empty       = variant{"empty", "loadtest", []string{"SERVER=empty"}} // replies 201 and does nothing else
	byHand      = baselineVariant("by hand", interpolate)
	each        = serviceVariant("each")
	optimistic  = serviceVariant("optimistic")
	pessimistic = serviceVariant("pessimistic")
	grouped     = serviceVariant("grouped")
)

// baselineVariant is the articles' flow without the service around it.
func baselineVariant(name, techniques string) variant {
	return variant{name, "loadtest", []string{"SERVER=baseline", "TECHNIQUES=" + techniques}}
}

// serviceVariant is the service with the given setting of COMMIT.
func serviceVariant(commit string, settings ...string) variant {
	return variant{commit, "api", append([]string{"COMMIT=" + commit}, settings...)}
}

// direct starts one instance of v.
func (b *bench) direct(ctx context.Context, v variant) (deployment, error) {
	sale, err := b.NewSale(ctx, v.settings...)
	if err != nil {
		return deployment{}, err
	}
	i, err := sale.StartInstance(v.program, "a")
	if err != nil {
		return deployment{}, fmt.Errorf("%s: %w", v.name, err)
	}
	return b.warmUp(ctx, deployment{variant: v, address: i.Address, sale: sale, instance: i})
}

// behindNginx starts two instances of v behind nginx.
func (b *bench) behindNginx(ctx context.Context, v variant) (deployment, error) {
	sale, err := b.NewSale(ctx, v.settings...)
	if err != nil {
		return deployment{}, err
	}
	p, err := sale.StartPair(v.program)
	if err != nil {
		return deployment{}, fmt.Errorf("%s: %w", v.name, err)
	}
	return b.warmUp(ctx, deployment{variant: v, address: p.Address(), sale: sale})
}

// warmUp sends load to d for a second, so that connections, pools and heap have
// grown before the first measurement.
func (b *bench) warmUp(ctx context.Context, d deployment) (deployment, error) {
	b.progress("start %s", d.name)
	if _, err := b.claim(ctx, d, defaultConns, time.Second, 1); err != nil {
		return d, fmt.Errorf("%s: %w", d.name, err)
	}
	return d, nil
}

// claim claims new coupons with unlimited stock for duration, and compares
// the acknowledged claims with the orders in the database.
func (b *bench) claim(
	ctx context.Context, d deployment, conns int, duration time.Duration, coupons int,
) (loadResult, error) {
	ids := make([]int64, coupons)
	for i := range ids {
		var err error
		if ids[i], err = d.sale.AddSplitCoupon(ctx, unlimitedStock, max(1, d.segments)); err != nil {
			return loadResult{}, err
		}
	}
	r, err := load{address: d.address, coupons: ids, users: b.users, conns: conns}.run(ctx, duration)
	if err != nil || d.name == empty.name {
		return r, err
	}
	if r.requests() > users {
		return r, fmt.Errorf("%d users are too few for this machine", users)
	}
	return r, d.audit(ctx, r, ids)
}

// audit returns an error if an acknowledged order is missing, or if stock and
// orders do not add up. There may be more orders than acknowledged claims: a
// claim that was refused with 503 may have been committed.
func (d deployment) audit(ctx context.Context, r loadResult, coupons []int64) error {
	accounts, err := d.sale.Accounts(ctx, coupons...)
	if err != nil {
		return err
	}
	orders := 0
	for _, a := range accounts {
		if a.Oversold() > 0 || a.Duplicates() > 0 || !a.Balanced() {
			return fmt.Errorf("a promise is broken: %+v", a)
		}
		orders += a.Orders
	}
	if orders < r.accepted || orders > r.requests() {
		return fmt.Errorf("%d claims were acknowledged, the database has %d orders", r.accepted, orders)
	}
	return nil
}
