package cluster

import (
	"context"
	"time"

	"example.com/flashsale/internal/faultproxy"
	"example.com/flashsale/internal/lab"
	"example.com/flashsale/loadtest/fault"
	"example.com/flashsale/loadtest/report"
	"example.com/flashsale/loadtest/rig"
	"example.com/flashsale/loadtest/trial"
	"example.com/flashsale/loadtest/verdict"
)

// A Promotion is a sale in which the primary is killed and its replica promoted.
type Promotion struct {
	Replication string `json:"replication"`
	LinkLost    bool   `json:"link_lost"` // the replica lost its connection to the primary before
	Expect      string `json:"expect"`    // what is to happen to acknowledged orders: keep, lose, or empty
	Attempts    int    `json:"attempts"`  // the rest is of the last one
	Outage      Outage `json:"outage"`
	Audit       Audit  `json:"audit"` // of the promoted server
	trial.Judged

	run   *run
	start func(*lab.Lab) (*lab.Replication, error)
}

const (
	keep = "keep"
	lose = "lose"
)

// promotions returns the experiments. An asynchronous primary that dies alone
// loses what was on its way to the replica, which may be nothing. One that loses
// the replica first is the control: it must lose orders.
func (r *run) promotions() []*Promotion {
	semiSync, async := lab.StartSemiSyncReplication, lab.StartAsyncReplication
	return []*Promotion{
		{Replication: "semi-synchronous", Expect: keep, start: semiSync, run: r},
		{Replication: "semi-synchronous", Expect: keep, LinkLost: true, start: semiSync, run: r},
		{Replication: "asynchronous", start: async, run: r},
		{Replication: "asynchronous", Expect: lose, LinkLost: true, start: async, run: r},
	}
}

func (p *Promotion) String() string { return p.Replication + " replication, " + p.cause() }

// Run runs the sale. One that lost nothing, and may have, is lucky.
func (p *Promotion) Run(ctx context.Context) (verdict.Verdict, error) {
	p.Attempts++
	if err := p.sell(ctx); err != nil {
		return "", err
	}
	if p.judge(); p.Expect == "" && p.Verdict == verdict.Held {
		return verdict.Lucky, nil
	}
	return p.Verdict, nil
}

// judge says whether the promoted server has every acknowledged order. Only the
// control must lack some, and only an asynchronous primary may. What the server has
// must be consistent in any case.
func (p *Promotion) judge() {
	if !p.Audit.consistent() || p.Audit.Untold > 0 || len(p.Violations) > 0 {
		p.Verdict = verdict.Wrong
		return
	}
	missing := p.Audit.Missing > 0
	p.Verdict = verdict.Of(p.Expect == lose || p.Expect == "" && missing, missing, p.Outage.Accepted > 0)
}

// linkLostFor is how long the primary runs without its replica before it dies.
const linkLostFor = 100 * time.Millisecond

// sell sells a coupon while the primary is killed.
func (p *Promotion) sell(ctx context.Context) error {
	l := p.run.stack.Lab
	servers, err := p.start(l)
	if err != nil {
		return err
	}
	defer servers.Primary.Kill()
	defer servers.Replica.Kill()
	link, err := faultproxy.New("tcp", servers.Primary.Address)
	if err != nil {
		return err
	}
	defer link.Close()
	if err := servers.Follow(ctx, link.Addr()); err != nil {
		return err
	}
	proxy, err := lab.StartHAProxy(l, nil, lab.OneWriter, servers.Primary, servers.Replica)
	if err != nil {
		return err
	}
	defer proxy.Kill()
	primaryDies := fault.Fault{
		Strike: func(ctx context.Context) error {
			if p.LinkLost {
				link.Partition()
				rig.Sleep(ctx, linkLostFor)
			}
			servers.Primary.Kill()
			return nil
		},
		Heal: func() error { return servers.Promote(ctx) },
	}
	return p.run.withFleet(ctx, servers.Primary, proxy.DSN, func(f *fleet) error {
		b, err := f.offer(ctx, 1)
		if err != nil {
			return err
		}
		if p.Outage, err = p.run.sell(ctx, f, b, primaryDies, func() error { return nil }); err != nil {
			return err
		}
		p.Violations = b.All()
		p.Audit, _, err = audit(ctx, "promoted replica", f.sale, b, servers.Replica)
		return err
	})
}

var promotionColumns = report.Columns[*Promotion]{
	report.Main("replication", func(p *Promotion) string { return p.Replication }),
	report.Main("primary", (*Promotion).cause),
	report.Detail("attempts", func(p *Promotion) int { return p.Attempts }),
	report.Main("accepted", func(p *Promotion) int { return p.Outage.Accepted }),
	report.Main("orders", func(p *Promotion) int { return p.Audit.Orders }),
	report.Main("acked missing", func(p *Promotion) int { return p.Audit.Missing }),
	report.Main("503s", func(p *Promotion) int { return p.Outage.Unavailable }),
	report.Main("gap", func(p *Promotion) string { return seconds(p.Outage.Gap) }),
	report.Main("verdict", (*Promotion).outcome),
}

// outcome says whether the orders that users were told of were kept.
func (p *Promotion) outcome() string {
	if p.Expect == "" && p.Verdict == verdict.Broke {
		return "broke, as it may"
	}
	return p.Verdict.String()
}

// cause returns what happens to the primary.
func (p *Promotion) cause() string {
	if p.LinkLost {
		return "replica lost, kill -9"
	}
	return "kill -9"
}
