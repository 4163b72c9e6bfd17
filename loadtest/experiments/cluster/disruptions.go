package cluster

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"example.com/flashsale/loadtest/report"
	"example.com/flashsale/loadtest/rig"
	"example.com/flashsale/loadtest/verdict"
)

// A Disruption is a fault in the middle of a sale.
type Disruption struct {
	Cluster    string          `json:"cluster"`
	Fault      string          `json:"fault"`
	Routing    string          `json:"routing"`
	Outage     Outage          `json:"outage"`
	Audits     []Audit         `json:"audits"` // of every member
	Violations []string        `json:"violations"`
	Verdict    verdict.Verdict `json:"verdict"`
}

// runDisruptions runs a sale for each fault.
func (r *run) runDisruptions(ctx context.Context, s *site) error {
	all := s.disruptions(s)
	if r.quick {
		all = slices.DeleteFunc(all, func(d disruption) bool { return !d.quick })
	}
	steps := rig.NewSteps(len(all))
	for _, routing := range s.routings {
		if err := s.reset(ctx); err != nil {
			return err
		}
		f, err := r.startFleet(ctx, s.members()[0], s.proxies[routing].DSN)
		if err != nil {
			return err
		}
		for _, d := range all {
			if d.routing != routing {
				continue
			}
			steps.Next("%s: %s, %s", s.name(), d.Name, routing)
			result, err := r.disrupt(ctx, s, f, d)
			if err != nil {
				return fmt.Errorf("%s: %w", d.Name, err)
			}
			r.result.Disruptions = append(r.result.Disruptions, result)
			r.result.Pass = r.result.Pass && result.Verdict.Pass()
		}
		if err := f.stop(); err != nil {
			return err
		}
	}
	return nil
}

// disrupt sells a new coupon before, during and after the fault.
func (r *run) disrupt(ctx context.Context, s *site, f *fleet, d disruption) (Disruption, error) {
	result := Disruption{Cluster: s.name(), Fault: d.Name, Routing: string(d.routing)}
	if err := s.reset(ctx); err != nil {
		return result, err
	}
	coupon, err := f.sale.AddCoupon(ctx, unlimitedStock)
	if err != nil {
		return result, err
	}
	if err := s.awaitCoupon(ctx, f, coupon); err != nil {
		return result, err
	}
	b, outage, err := r.sell(ctx, f, coupon, d.Fault, s.await)
	if err != nil {
		return result, err
	}
	result.Outage = outage
	d.judge(b, outage.struck)
	// After the loss of a quorum the first two members of a group that meet may expel the
	// third, which all have just seen online. It joins them again by itself.
	if err := s.await(); err != nil {
		return result, err
	}
	result.Audits, err = auditAll(ctx, s.members(), f.sale, b)
	result.Violations = b.violations.All()
	result.Verdict = verdict.Of(false, len(result.Violations) > 0, outage.Accepted > 0)
	return result, err
}

func disruptionsTable(disruptions []Disruption) report.Table {
	t := report.Table{Header: []string{
		"cluster", "fault", "routing", "lasted", "accepted", "503s", "lost", "503s for", "gap", "resumed", "normal",
		"orders", "missing", "verdict",
	}}
	for _, d := range disruptions {
		var orders []string
		missing := 0
		for _, a := range d.Audits {
			orders = append(orders, strconv.Itoa(a.Orders))
			missing = max(missing, a.Missing)
		}
		o := d.Outage
		t.Add(d.Cluster, d.Fault, d.Routing, seconds(o.Lasted), o.Accepted, o.Unavailable, o.Lost,
			seconds(o.FailedTime), seconds(o.Gap), seconds(o.Resumed), seconds(o.Normal),
			strings.Join(slices.Compact(orders), " / "), missing, d.Verdict)
	}
	return t
}
