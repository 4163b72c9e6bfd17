package cluster

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

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
	all := s.disruptions()
	if r.quick {
		all = slices.DeleteFunc(all, func(d disruption) bool { return !d.quick })
	}
	steps := rig.NewSteps(len(all))
	for _, routing := range routings {
		f, err := r.startFleet(ctx, s.galera.Nodes[0], s.proxies[routing].DSN)
		if err != nil {
			return err
		}
		for _, d := range all {
			if d.routing != routing {
				continue
			}
			steps.Next("%s, %s", d.Name, routing)
			result, err := r.disrupt(ctx, s, f, d)
			if err != nil {
				return fmt.Errorf("%s: %w", d.Name, err)
			}
			r.result.Disruptions, r.result.Pass = append(r.result.Disruptions, result), r.result.Pass && result.Pass
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
func (r *run) disrupt(ctx context.Context, s *site, f *fleet, d disruption) (Disruption, error) {
	result := Disruption{Fault: d.Name, Routing: string(d.routing)}
	coupon, err := f.sale.AddCoupon(ctx, unlimitedStock)
	if err != nil {
		return result, err
	}
	if err := s.awaitCoupon(ctx, f, coupon); err != nil {
		return result, err
	}
	b, outage, err := r.sell(ctx, f, coupon, d.Fault, s.galera.AwaitSynced)
	if err != nil {
		return result, err
	}
	result.Outage = outage
	d.judge(b, outage.struck)
	result.Audits, err = auditAll(ctx, s.galera.Nodes, f.sale, b)
	result.Violations = b.violations.All()
	result.Pass = len(result.Violations) == 0
	return result, err
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
			seconds(o.Gap), seconds(o.Resumed), seconds(o.Normal), strings.Join(slices.Compact(orders), " / "),
			missing, rig.Verdict(d.Pass, false))
	}
	return t
}
