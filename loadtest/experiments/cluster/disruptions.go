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

var disruptionColumns = report.Columns[Disruption]{
	report.Main("cluster", func(d Disruption) string { return d.Cluster }),
	report.Main("fault", func(d Disruption) string { return d.Fault }),
	report.Main("routing", func(d Disruption) string { return d.Routing }),
	report.Detail("lasted", func(d Disruption) string { return seconds(d.Outage.Lasted) }),
	report.Detail("accepted", func(d Disruption) int { return d.Outage.Accepted }),
	report.Main("503s", func(d Disruption) int { return d.Outage.Unavailable }),
	report.Detail("lost", func(d Disruption) int { return d.Outage.Lost }),
	report.Detail("503s for", func(d Disruption) string { return seconds(d.Outage.FailedTime) }),
	report.Main("gap", func(d Disruption) string { return seconds(d.Outage.Gap) }),
	report.Detail("resumed", func(d Disruption) string { return seconds(d.Outage.Resumed) }),
	report.Detail("normal", func(d Disruption) string { return seconds(d.Outage.Normal) }),
	report.Detail("orders", Disruption.orders),
	report.Main("missing", Disruption.missing),
	report.Main("verdict", func(d Disruption) verdict.Verdict { return d.Verdict }),
}

// orders returns how many each member has, or the one number that all have.
func (d Disruption) orders() string {
	var all []string
	for _, a := range d.Audits {
		all = append(all, strconv.Itoa(a.Orders))
	}
	return strings.Join(slices.Compact(all), " / ")
}

// missing returns how many acknowledged orders one member lacks at most.
func (d Disruption) missing() (most int) {
	for _, a := range d.Audits {
		most = max(most, a.Missing)
	}
	return most
}
