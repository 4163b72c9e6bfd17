package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	"example.com/flashsale/internal/faultproxy"
	"example.com/flashsale/internal/lab"
	"example.com/flashsale/loadtest/fault"
	"example.com/flashsale/loadtest/report"
	"example.com/flashsale/loadtest/rig"
	"example.com/flashsale/loadtest/verdict"
)

// A Promotion is a sale in which the primary is killed and its replica promoted.
type Promotion struct {
	Replication string          `json:"replication"`
	LinkLost    bool            `json:"link_lost"` // the replica lost its connection to the primary before
	Expect      string          `json:"expect"`    // what is to happen to acknowledged orders: keep, lose, or empty
	Attempts    int             `json:"attempts"`  // the rest is of the last one
	Outage      Outage          `json:"outage"`
	Audit       Audit           `json:"audit"` // of the promoted server
	Violations  []string        `json:"violations"`
	Verdict     verdict.Verdict `json:"verdict"`

	start func(*lab.Lab) (*lab.Replication, error)
}

const (
	keep = "keep"
	lose = "lose"
)

// promotions returns the experiments. An asynchronous primary that dies alone
// loses what was on its way to the replica, which may be nothing. One that loses
// the replica first is the control: it must lose orders.
func promotions() []Promotion {
	return []Promotion{
		{Replication: "semi-synchronous", Expect: keep, start: lab.StartSemiSyncReplication},
		{Replication: "semi-synchronous", Expect: keep, LinkLost: true, start: lab.StartSemiSyncReplication},
		{Replication: "asynchronous", start: lab.StartAsyncReplication},
		{Replication: "asynchronous", Expect: lose, LinkLost: true, start: lab.StartAsyncReplication},
	}
}

// maxAttempts is how often a sale is repeated at most that lost nothing and may
// have, or must.
const maxAttempts = 5

// linkLostFor is how long the primary runs without its replica before it dies.
const linkLostFor = 100 * time.Millisecond

// promote runs the sale, again if it lost nothing and need not keep everything.
func (r *run) promote(ctx context.Context, p Promotion) (Promotion, error) {
	for p.Attempts = 1; ; p.Attempts++ {
		if err := r.promoteOnce(ctx, &p); err != nil {
			return p, fmt.Errorf("%s replication: %w", p.Replication, err)
		}
		p.judge()
		if p.Expect == keep || p.Audit.Missing > 0 || p.Attempts == maxAttempts {
			return p, nil
		}
	}
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

func (r *run) promoteOnce(ctx context.Context, p *Promotion) error {
	servers, err := p.start(r.stack.Lab)
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
	proxy, err := lab.StartHAProxy(r.stack.Lab, lab.OneWriter, servers.Primary, servers.Replica)
	if err != nil {
		return err
	}
	defer proxy.Kill()
	f, err := r.startFleet(ctx, servers.Primary, proxy.DSN)
	if err != nil {
		return err
	}
	return errors.Join(p.sell(ctx, r, f, servers, link), f.stop())
}

// sell kills the primary in the middle of a sale.
func (p *Promotion) sell(
	ctx context.Context, r *run, f *fleet, servers *lab.Replication, link *faultproxy.Proxy,
) error {
	coupon, err := f.sale.AddCoupon(ctx, unlimitedStock)
	if err != nil {
		return err
	}
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
	b, outage, err := r.sell(ctx, f, coupon, primaryDies, func() error { return nil })
	if err != nil {
		return err
	}
	p.Outage, p.Violations = outage, b.violations.All()
	p.Audit, err = audit(ctx, "promoted replica", servers.Replica, f.sale, b)
	return err
}

func promotionsTable(promotions []Promotion) report.Table {
	t := report.Table{Header: []string{
		"replication", "primary", "attempts", "accepted", "orders", "acked missing", "503s", "gap",
		"verdict",
	}}
	for _, p := range promotions {
		t.Add(p.Replication, p.cause(), p.Attempts, p.Outage.Accepted, p.Audit.Orders, p.Audit.Missing,
			p.Outage.Unavailable, seconds(p.Outage.Gap), p.outcome())
	}
	return t
}

// outcome says whether the orders that users were told of were kept.
func (p Promotion) outcome() string {
	if p.Expect == "" && p.Verdict == verdict.Broke {
		return "broke, as it may"
	}
	return p.Verdict.String()
}

// cause returns what happens to the primary.
func (p Promotion) cause() string {
	if p.LinkLost {
		return "replica lost, kill -9"
	}
	return "kill -9"
}

func seconds(s float64) string { return fmt.Sprintf("%.1f s", s) }
