package cluster

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.com/flashsale/loadtest/report"
	"example.com/flashsale/loadtest/rig"
)

// A Disruption is a fault in the middle of a sale.
type Disruption struct {
	Fault      string   `json:"fault"`
	Routing    string   `json:"routing"`
	Outage     Outage   `json:"outage"`
	Audits     []Audit  `json:"audits"` // of every node
	Violations []string `json:"violations"`
	Pass       bool     `json:"pass"`
}

// runDisruptions runs a sale for each fault.
func (r *run) runDisruptions(ctx context.Context, s *site) error {
	faults := s.faults()
	if r.quick {
		faults = slices.DeleteFunc(faults, func(f fault) bool { return !f.quick })
	}
	steps := rig.NewSteps(len(faults))
	for _, routing := range routings {
		f, err := r.startFleet(ctx, s.galera.Nodes[0], s.proxies[routing])
		if err != nil {
			return err
		}
		for _, fault := range faults {
			if fault.routing != routing {
				continue
			}
			steps.Next("%s, %s", fault.name, routing)
			d, err := r.disrupt(ctx, s, f, fault)
			if err != nil {
				return fmt.Errorf("%s: %w", fault.name, err)
			}
			printViolations(d.Violations)
			r.result.Disruptions, r.result.Pass = append(r.result.Disruptions, d), r.result.Pass && d.Pass
		}
		if err := f.stop(); err != nil {
			return err
		}
	}
	fmt.Println("\nGalera's nodes and HAProxy fail in mid-sale:")
	disruptionsTable(r.result.Disruptions).Print()
	return nil
}

// disrupt sells a new coupon before, during and after the fault.
func (r *run) disrupt(ctx context.Context, s *site, f *fleet, fault fault) (Disruption, error) {
	d := Disruption{Fault: fault.name, Routing: string(fault.routing)}
	coupon, err := f.sale.AddCoupon(ctx, unlimitedStock)
	if err != nil {
		return d, err
	}
	if err := s.awaitCoupon(ctx, f, coupon); err != nil {
		return d, err
	}
	b, err := startBuyers(f.Nginx.URL, r.stack.Signer(), coupon)
	if err != nil {
		return d, err
	}
	defer b.stop()
	rig.Sleep(ctx, calm)
	struck, healed, err := fault.inject(ctx)
	if err != nil {
		return d, err
	}
	if err := s.awaitSynced(ctx); err != nil {
		return d, err
	}
	if err := b.awaitAccepted(ctx, time.Now(), buyerCount); err != nil {
		return d, err
	}
	rig.Sleep(ctx, calm)
	end := time.Now()
	b.stop()
	d.Outage = outageOf(b.claims, struck, healed, end)
	if d.Audits, err = auditAll(ctx, s.galera.Nodes, f.sale, coupon, b); err != nil {
		return d, err
	}
	d.Violations = slices.Concat(b.violations, fault.violations(b.claims, struck), broken(d.Audits))
	d.Pass = len(d.Violations) == 0
	return d, ctx.Err()
}

func disruptionsTable(disruptions []Disruption) report.Table {
	t := report.Table{Header: []string{
		"fault", "routing", "lasted", "accepted", "503s", "lost", "503s for", "gap", "resumed", "normal", "orders",
		"missing", "verdict",
	}}
	for _, d := range disruptions {
		var orders []string
		missing := 0
		for _, a := range d.Audits {
			orders = append(orders, strconv.Itoa(a.Orders))
			missing = max(missing, a.Missing)
		}
		o := d.Outage
		t.Add(d.Fault, d.Routing, seconds(o.Lasted), o.Accepted, o.Unavailable, o.Lost, seconds(o.FailedTime),
			seconds(o.Gap),
			seconds(o.Resumed), seconds(o.Normal), strings.Join(slices.Compact(orders), " / "), missing,
			rig.Verdict(d.Pass, false))
	}
	return t
}
