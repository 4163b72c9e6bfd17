package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"example.com/flashsale/loadtest/clients"
	"example.com/flashsale/loadtest/generator"
	"example.com/flashsale/loadtest/rig"
)

// A deployment is one server, or two behind nginx, on a sale of its own.
type deployment struct {
	variant
	*rig.Fleet
	sale    *rig.Sale
	headers rig.Headers // of the users that claim
	others  []int       // processes whose CPU time is measured beside that of the instances
	audited *int        // of the bench
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
	floor       = variant{"floor", "loadtest", []string{"SERVER=floor"}} // waits for what a claim must wait for
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

// startOne starts one instance of v.
func (b *bench) startOne(ctx context.Context, v variant) (deployment, error) {
	return b.deploy(ctx, v, nil, nil)
}

// startPair starts two instances of v behind nginx.
func (b *bench) startPair(ctx context.Context, v variant, nginx rig.StartNginx) (deployment, error) {
	return b.deploy(ctx, v, nginx, nil, nil)
}

// deploy starts v on a sale of its own: an instance for each of settings, which may be
// nil, behind nginx unless that is nil.
func (b *bench) deploy(
	ctx context.Context, v variant, nginx rig.StartNginx, settings ...[]string,
) (deployment, error) {
	sale, err := b.NewSale(ctx, v.settings...)
	if err != nil {
		return deployment{}, err
	}
	return b.deployOn(ctx, sale, v, nginx, settings...)
}

// deployOn starts v, and sends load to it for a second, so that connections, pools
// and heap have grown before the first measurement.
func (b *bench) deployOn(
	ctx context.Context, sale *rig.Sale, v variant, nginx rig.StartNginx, settings ...[]string,
) (d deployment, err error) {
	b.progress("start %s", v.name)
	d = deployment{variant: v, headers: b.headers, sale: sale, audited: &b.audited}
	if d.Fleet, err = d.sale.StartFleet(v.program, nginx, settings...); err == nil {
		_, err = d.claim(ctx, closed(defaultConns, time.Second), 1, 1)
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", v.name, err)
	}
	return d, err
}

// closed is a closed model of clients whose connections are open before.
func closed(conns int, duration time.Duration) clients.Load {
	return clients.Load{Connect: conns, Phases: []generator.Phase{{Clients: conns, Duration: duration}}}
}

// claim sends l to new coupons with unlimited stock in so many segments, and
// compares the acknowledged claims with the orders in the database.
func (d deployment) claim(ctx context.Context, l clients.Load, coupons, segments int) (outcome, error) {
	for range coupons {
		id, err := d.sale.AddSplitCoupon(ctx, unlimitedStock, segments)
		if err != nil {
			return outcome{}, err
		}
		l.Coupons = append(l.Coupons, id)
	}
	o, err := d.send(ctx, l)
	if err != nil || d.name == empty.name || d.name == floor.name { // without orders
		return o, err
	}
	acknowledged, sent := 0, 0
	for _, r := range o.phases {
		acknowledged, sent = acknowledged+r.Replies(rig.Accepted), sent+len(r.Claims)
	}
	if sent > userCount {
		return o, fmt.Errorf("%d users are too few for this machine", userCount)
	}
	*d.audited += acknowledged
	return o, d.sale.Check(ctx, l.Coupons, acknowledged, sent)
}

// send sends l to d.
func (d deployment) send(ctx context.Context, l clients.Load) (o outcome, err error) {
	l.Address, l.Headers = d.Address(), d.headers
	stopSampling := rig.SampleMemory(d.PIDs()...)
	before, othersBefore := cpuTime(d.PIDs()...), cpuTime(d.others...)
	o.phases, err = l.Run(ctx)
	o.cpu, o.others = cpuTime(d.PIDs()...)-before, cpuTime(d.others...)-othersBefore
	memory, memoryErr := stopSampling()
	o.memory = memory
	return o, errors.Join(err, memoryErr)
}
