package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	"example.com/flashsale/internal/connect"
	"example.com/flashsale/internal/coupon"
	"example.com/flashsale/internal/lab"
	"example.com/flashsale/loadtest/fault"
	"example.com/flashsale/loadtest/report"
	"example.com/flashsale/loadtest/rig"
	"example.com/flashsale/loadtest/trial"
	"example.com/flashsale/loadtest/verdict"
)

// A Sharding is a sale of several coupons over the shards of Vitess.
type Sharding struct {
	Name       string          `json:"name"`
	Coupons    []*Sharded      `json:"coupons"`
	Violations []string        `json:"violations"`
	Verdict    verdict.Verdict `json:"verdict"`

	run    *run
	vitess *lab.Vitess
	fleet  *fleet
	fault  *fault.Fault // nil: the coupons are sold out, and their orders expire
	spoil  bool         // an order is deleted on its shard: the audit has to find that
}

// A Sharded is the sale of a coupon, and the audit of the server that has it.
type Sharded struct {
	Shard  string `json:"shard"`
	Outage Outage `json:"outage"`
	Audit  Audit  `json:"audit"`

	of *Sharding
}

const (
	shardedCoupons = 4
	shardedStock   = 500
)

// runVitess sells on Vitess through two instances, which migrate its keyspace, and kills its parts.
func runVitess(ctx context.Context, r *run) error {
	if err := r.stack.MySQL.CanJoin(ctx, lab.VitessShard); err != nil {
		return err
	}
	v, err := lab.StartVitess(r.stack.Lab, "bin/vitess", "deploy/vitess")
	if err != nil {
		return err
	}
	sale, err := r.stack.SaleAt("flashsale", v.DSN("flashsale"), "LOG_LEVEL=error", "EVENTS=true")
	if err != nil {
		return err
	}
	defer sale.Close()
	pair, err := sale.StartPair("api")
	if err != nil {
		return err
	}
	rows, failed := trial.Run(ctx, shardings(r, v, &fleet{pair, sale})...)
	section := report.Section{Title: "Sales over two shards of Vitess"}
	var coupons []*Sharded
	for _, s := range rows {
		if s.spoil {
			section.Judge(s.Verdict) // what it violates, it must
		} else {
			section.Judge(s.Verdict, s.Violations...)
		}
		coupons = append(coupons, s.Coupons...)
	}
	section.Table = shardedColumns.Table(coupons)
	summary := "Coupons are sold over two shards through two instances, and parts of Vitess are killed in mid-sale. " +
		"Every promise is judged by the shards' own servers."
	report.Say("%s", summary)
	return errors.Join(failed, pair.Stop(), report.ConcludeRows(ctx, r.stack, "vitess", rows, report.Report{
		Title: "A sharded database", Summary: summary, Sections: []report.Section{section},
	}))
}

func shardings(r *run, v *lab.Vitess, f *fleet) []*Sharding {
	kill := func(what string, s *lab.Server) *Sharding {
		one := fault.Kill(what, restartTime, s)
		return &Sharding{Name: one.Name, fault: &one}
	}
	all := []*Sharding{
		{Name: "sold out, expired"}, kill("mysqld killed", v.Shards[1].Server), kill("vttablet killed", v.Tablets[1]),
		kill("vtgate killed", v.Gate), {Name: "control: order deleted", spoil: true},
	}
	for _, s := range all {
		s.run, s.vitess, s.fleet = r, v, f
	}
	return all
}

func (s *Sharding) String() string { return "Vitess: " + s.Name }

// Run sells new coupons, and audits each on its shard.
func (s *Sharding) Run(ctx context.Context) (verdict.Verdict, error) {
	s.Coupons, s.Violations = nil, nil
	var all []*buyers
	for n := range shardedCoupons {
		segments := 1 + 3*(n%2) // of one shard, between which stock moves
		stock := shardedStock
		if s.fault != nil {
			stock = unlimitedStock
		}
		id, err := s.fleet.sale.AddCouponWithRules(ctx, stock, segments, coupon.Rules{PerUser: 1, HoldSeconds: 600})
		if err != nil {
			return "", err
		}
		all = append(all, &buyers{coupon: id, finite: s.fault == nil})
	}
	course, err := s.run.play(ctx, s.fleet, s.schedule(all), all...)
	if err != nil {
		return "", err
	}
	struck := trial.Span{Begin: course.Begin.Add(calm), End: course.Begin.Add(calm)}
	for _, strike := range course.Strikes {
		struck = strike.Span
	}
	if s.spoil {
		err := s.onEach(ctx, "DELETE FROM coupon_orders WHERE coupon_id = ? LIMIT 1", all[0].coupon)
		if err != nil {
			return "", err
		}
	}
	shards := map[string]int{} // what was accepted
	for _, b := range all {
		one := &Sharded{of: s, Outage: outageOf(b.Claims(), struck, course.End)}
		if one.Shard, one.Audit, err = s.audit(ctx, b); err != nil {
			return "", err
		}
		if one.Audit.StockLeft > 0 && b.finite {
			b.Violations.Add("%d units of coupon %d are left", one.Audit.StockLeft, b.coupon)
		}
		s.Coupons, shards[one.Shard] = append(s.Coupons, one), shards[one.Shard]+one.Outage.Accepted
		s.Violations = append(s.Violations, b.All()...)
	}
	if s.fault == nil && !s.spoil {
		if err := s.expire(ctx); err != nil {
			return "", err
		}
	}
	s.Verdict = verdict.Of(s.spoil, len(s.Violations) > 0, shards["1"]*shards["2"] > 0)
	return s.Verdict, nil
}

// schedule is that of the fault, or lasts until all coupons are sold out.
func (s *Sharding) schedule(all []*buyers) trial.Schedule {
	if s.fault == nil {
		return trial.Schedule{Loaded: true}
	}
	return trial.Schedule{
		Faults: []fault.Fault{*s.fault}, Rest: calm,
		Recovered: func(ctx context.Context, _ trial.Strike) error {
			for _, b := range all {
				if err := b.awaitSales(ctx); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// audit audits b's coupon on the one shard that has it.
func (s *Sharding) audit(ctx context.Context, b *buyers) (shard string, found Audit, err error) {
	for i, m := range s.vitess.Shards {
		name := fmt.Sprint(i + 1)
		a, err := audit(ctx, "shard "+name, m, s.fleet.sale, b)
		switch {
		case errors.Is(err, errNoCoupon):
			continue
		case err != nil:
			return "", a, err
		case shard != "":
			b.Violations.Add("coupon %d is on two shards", b.coupon)
		}
		if shard, found = name, a; !a.keptWith(a) {
			b.Violations.Add("%+v", a)
		}
	}
	if shard == "" {
		b.Violations.Add("coupon %d is on no shard", b.coupon)
	}
	return shard, found, nil
}

// expire lets all orders expire. Their units have to come back, and their events to be
// published, which removes them.
func (s *Sharding) expire(ctx context.Context) error {
	for _, table := range []string{"coupon_orders", "coupon_holds"} {
		if err := s.onEach(ctx, "UPDATE "+table+" SET expires_at = UTC_TIMESTAMP(3)"); err != nil {
			return err
		}
	}
	const left = `
		SELECT (SELECT COUNT(*) FROM coupon_orders) + (SELECT COUNT(*) FROM coupon_holds) +
			(SELECT COUNT(*) FROM coupon_events) + ABS((SELECT SUM(initial_stock - stock) FROM coupons) -
			(SELECT COALESCE(SUM(stock), 0) FROM coupon_segments) - (SELECT COALESCE(SUM(units), 0) FROM coupon_transfers))`
	n := 1
	for begin := time.Now(); n > 0 && time.Since(begin) < settleLimit && rig.Sleep(ctx, retryPause); {
		n = 0
		if err := s.fleet.sale.DB.GetContext(ctx, &n, left); err != nil {
			return err
		}
	}
	if n > 0 {
		s.Violations = append(s.Violations, fmt.Sprintf("%d orders, holds, events and missing units are left", n))
	}
	return ctx.Err()
}

// onEach executes a statement on the server of each shard, as nothing of the service does.
func (s *Sharding) onEach(ctx context.Context, q string, args ...any) error {
	for _, m := range s.vitess.Shards {
		db, err := connect.MySQL(m.DSN(s.fleet.sale.Name), 1)
		if err != nil {
			return err
		}
		_, err = db.ExecContext(ctx, q, args...)
		if err := errors.Join(err, db.Close()); err != nil {
			return err
		}
	}
	return nil
}

var shardedColumns = report.Columns[*Sharded]{
	report.Main("sale", func(c *Sharded) string { return c.of.Name }),
	report.Main("shard", func(c *Sharded) string { return c.Shard }),
	report.Main("accepted", func(c *Sharded) int { return c.Outage.Accepted }),
	report.Detail("503s", func(c *Sharded) int { return c.Outage.Unavailable }),
	report.Main("gap", func(c *Sharded) string { return seconds(c.Outage.Gap) }),
	report.Detail("oversold", func(c *Sharded) int { return c.Audit.Oversold }),
	report.Detail("twice", func(c *Sharded) int { return c.Audit.Duplicates }),
	report.Main("missing", func(c *Sharded) int { return c.Audit.Missing }),
	report.Main("verdict", func(c *Sharded) verdict.Verdict { return c.of.Verdict }),
}
