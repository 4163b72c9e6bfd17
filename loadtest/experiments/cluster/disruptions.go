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
	Audits  []Audit     `json:"audits"` // of every server that is left
	trial.Judged

	fault      fault.Fault // of a site
	quorumLost bool        // no member can commit while it lasts
	quick      bool        // is part of a short run as well
	loss       loss
	on         scene
	run        *run
}

// A loss says whether acknowledged orders may be lost.
type loss int

const (
	never loss = iota
	possible
	certain // the row is a control
)

// A scene starts where a disruption happens, unless it has been started, and plays it there.
type scene func(ctx context.Context, play func(stage) error) error

// A stage is a database of several servers, and what strikes it.
type stage struct {
	first    *lab.MySQL                   // gets the sale
	dsn      func(database string) string // by which instances reach it
	members  []*lab.MySQL                 // have all that the first has, once they are asked for it
	fault    fault.Fault
	repaired func() error // returns when every server takes part again
	left     []*lab.MySQL // when the sale is over
}

// disruptions returns the faults of a site.
func (r *run) disruptions(s *site) (rows []*Disruption) {
	for _, d := range s.faults(s) {
		if d.quick || !r.quick {
			d.Cluster, d.Fault, d.on = s.GroupKind.Name, d.fault.Name, s.scene(d)
			rows = append(rows, d)
		}
	}
	return rows
}

// scene returns the scene of d, for which the first member accepts writes again.
func (s *site) scene(d *Disruption) scene {
	return func(ctx context.Context, play func(stage) error) error {
		if err := s.reset(ctx); err != nil {
			return err
		}
		return play(stage{s.Members[0], s.proxies[d.Routing].DSN, s.Members, d.fault, s.AwaitJoined, s.Members})
	}
}

func (d *Disruption) String() string { return fmt.Sprintf("%s: %s, %s", d.Cluster, d.Fault, d.Routing) }

// Run sells a new coupon before, during and after the fault. What has lost nothing, and may have, is lucky.
func (d *Disruption) Run(ctx context.Context) (verdict.Verdict, error) {
	err := d.on(ctx, func(s stage) error {
		sale, err := d.run.stack.NewSaleOn(ctx, s.first, s.dsn, "REDIS_URL="+d.run.redis.URL, "LOG_LEVEL=error")
		if err != nil {
			return err
		}
		return sale.With(instances, func(f *rig.Fleet) error { return d.sell(ctx, f, s) })
	})
	if d.loss == possible && d.Verdict == verdict.Held {
		return verdict.Lucky, err
	}
	return d.Verdict, err
}

func (d *Disruption) sell(ctx context.Context, f *rig.Fleet, s stage) error {
	b, err := offer(ctx, f, s.members...)
	if err != nil {
		return err
	}
	if d.Outage, err = d.run.sell(ctx, f, b, s.fault, s.repaired); err != nil {
		return err
	}
	if d.quorumLost {
		b.judgeLostQuorum(d.Outage.struck, d.Outage.struck.Add(d.fault.Lasts))
	}
	// After the loss of a quorum the first two members of a group that meet may expel the
	// third, which all have just seen online. It joins them again by itself.
	if err := s.repaired(); err != nil {
		return err
	}
	d.Audits, err = auditAll(ctx, f.Sale, b, s.left, d.loss != never)
	d.judge(b.All())
	return err
}

// judge judges whether orders were lost, unless anything else is wrong.
func (d *Disruption) judge(violations []string) {
	met, lost := d.Outage.Accepted > 0, d.missing() > 0
	if d.Judge(false, violations, met); d.loss != never && len(violations) == 0 {
		d.Verdict = verdict.Of(d.loss == certain || lost, lost, met)
	}
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
	report.Main("verdict", (*Disruption).outcome),
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

// outcome says what the row has shown. One that may lose orders breaks no promise.
func (d *Disruption) outcome() string {
	if d.loss == possible && d.Verdict == verdict.Broke {
		return "broke, as it may"
	}
	return d.Verdict.String()
}

func seconds(s float64) string { return fmt.Sprintf("%.1f s", s) }
