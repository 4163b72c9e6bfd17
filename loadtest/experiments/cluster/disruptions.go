package cluster

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.com/flashsale/internal/lab"
	"example.com/flashsale/loadtest/fault"
	"example.com/flashsale/loadtest/report"
	"example.com/flashsale/loadtest/rig"
	"example.com/flashsale/loadtest/trial"
	"example.com/flashsale/loadtest/verdict"
)

// A Disruption is a fault in the middle of a sale.
type Disruption struct {
	Cluster string      `json:"cluster"`
	Fault   string      `json:"fault"`
	Routing lab.Routing `json:"routing"`
	Outage  Outage      `json:"outage"`
	Audits  []Audit     `json:"audits"` // of every member
	trial.Judged

	fault      fault.Fault
	quorumLost bool // no member can commit while it lasts
	quick      bool // is part of a short run as well
	run        *run
	site       *site
}

// disruptions returns the faults of a site.
func (r *run) disruptions(s *site) (rows []*Disruption) {
	for _, d := range s.faults(s) {
		if d.quick || !r.quick {
			d.Cluster, d.Fault, d.run, d.site = s.name, d.fault.Name, r, s
			rows = append(rows, d)
		}
	}
	return rows
}

func (d *Disruption) String() string { return fmt.Sprintf("%s: %s, %s", d.Cluster, d.Fault, d.Routing) }

// Run sells a new coupon before, during and after the fault.
func (d *Disruption) Run(ctx context.Context) (verdict.Verdict, error) {
	s := d.site
	if err := s.reset(ctx); err != nil {
		return "", err
	}
	err := d.run.withFleet(ctx, s.Members[0], s.proxies[d.Routing].DSN, func(f *fleet) error {
		b, err := f.offer(ctx, 1, s.Members...)
		if err != nil {
			return err
		}
		if d.Outage, err = d.run.sell(ctx, f, b, d.fault, s.AwaitJoined); err != nil {
			return err
		}
		if d.quorumLost {
			b.judgeLostQuorum(d.Outage.struck, d.Outage.struck.Add(d.fault.Lasts))
		}
		// After the loss of a quorum the first two members of a group that meet may expel the
		// third, which all have just seen online. It joins them again by itself.
		if err := s.AwaitJoined(); err != nil {
			return err
		}
		d.Audits, err = auditAll(ctx, f.sale, b, s.Members)
		d.Judge(false, b.All(), d.Outage.Accepted > 0)
		return err
	})
	return d.Verdict, err
}

// noticed is how long after the loss of quorum a commit may still succeed: the
// nodes had all received it.
const noticed = time.Second

// judgeLostQuorum adds what may not be without a quorum: every claim has to be refused
// with 503.
func (b *buyers) judgeLostQuorum(struck, healing time.Time) {
	claims := b.Claims()
	if n := acceptedBetween(claims, struck.Add(noticed), healing); n > 0 {
		b.Violations.Add("%d claims were accepted without a quorum", n)
	}
	if !slices.ContainsFunc(claims, func(c rig.Claim) bool {
		return c.Failed() && c.Verdict != rig.Lost && c.Received.After(struck) && c.Received.Before(healing)
	}) {
		b.Violations.Add("no claim was refused with 503 although there was no quorum")
	}
}

var disruptionColumns = report.Columns[*Disruption]{
	report.Main("cluster", func(d *Disruption) string { return d.Cluster }),
	report.Main("fault", func(d *Disruption) string { return d.Fault }),
	report.Main("routing", func(d *Disruption) lab.Routing { return d.Routing }),
	report.Detail("lasted", func(d *Disruption) string { return seconds(d.Outage.Lasted) }),
	report.Detail("accepted", func(d *Disruption) int { return d.Outage.Accepted }),
	report.Main("503s", func(d *Disruption) int { return d.Outage.Unavailable }),
	report.Detail("lost", func(d *Disruption) int { return d.Outage.Lost }),
	report.Detail("503s for", func(d *Disruption) string { return seconds(d.Outage.FailedTime) }),
	report.Main("gap", func(d *Disruption) string { return seconds(d.Outage.Gap) }),
	report.Detail("resumed", func(d *Disruption) string { return seconds(d.Outage.Resumed) }),
	report.Detail("normal", func(d *Disruption) string { return seconds(d.Outage.Normal) }),
	report.Detail("orders", (*Disruption).orders),
	report.Main("missing", (*Disruption).missing),
	report.Main("verdict", func(d *Disruption) verdict.Verdict { return d.Verdict }),
}

// orders returns how many each member has, or the one number that all have.
func (d *Disruption) orders() string {
	var all []string
	for _, a := range d.Audits {
		all = append(all, strconv.Itoa(a.Orders))
	}
	return strings.Join(slices.Compact(all), " / ")
}

// missing returns how many acknowledged orders one member lacks at most.
func (d *Disruption) missing() (most int) {
	for _, a := range d.Audits {
		most = max(most, a.Missing)
	}
	return most
}

func seconds(s float64) string { return fmt.Sprintf("%.1f s", s) }
