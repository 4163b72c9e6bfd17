package cluster

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"example.com/flashsale/internal/connect"
	"example.com/flashsale/internal/lab"
	"example.com/flashsale/loadtest/fault"
	"example.com/flashsale/loadtest/report"
	"example.com/flashsale/loadtest/rig"
	"example.com/flashsale/loadtest/trial"
	"example.com/flashsale/loadtest/verdict"
)

// A Sharding is a sale of coupons in segments over the shards of Vitess. All of it is sold in
// the end.
type Sharding struct {
	Name       string          `json:"name"`
	Shards     []*Sharded      `json:"shards"` // when the sale is over
	Outage     Outage          `json:"outage"`
	Moved      int             `json:"moved"`     // units, between segments
	UnderWay   int             `json:"under_way"` // of them, when the fault struck
	Audit      Audit           `json:"audit"`     // of all shards
	Violations []string        `json:"violations"`
	Verdict    verdict.Verdict `json:"verdict"`

	run    *run
	vitess *lab.Vitess
	fleet  *fleet
	fault  *fault.Fault // nil: the coupons are sold out, and their orders expire
	spoil  bool         // an order is deleted on its shard: the audit has to find that
	closed atomic.Bool  // nothing more is put on sale
}

const (
	shardSegments = 4
	finiteStock   = 2000 // of a coupon that is sold out
	thinStock     = 400  // of one that is restocked: segments run empty again and again, mostly the first
)

// runVitess sells on Vitess through two instances, which migrate its keyspace, and makes its
// parts fail: first without replicas, and then with two for each shard.
func runVitess(ctx context.Context, r *run) error {
	if err := r.stack.MySQL.CanJoin(ctx, lab.VitessShard); err != nil {
		return err
	}
	var rows []*Sharding
	plain, failed := r.shard(ctx, lab.VitessPlan{Shards: 2}, r.plainFaults)
	rows = append(rows, plain...)
	if failed == nil {
		var replicated []*Sharding
		replicated, failed = r.shard(ctx, lab.VitessPlan{Shards: 2, Replicas: 2}, r.reparents)
		rows = append(rows, replicated...)
	}
	section := report.Section{Title: "Sales over shards of Vitess", Table: shardedColumns.Table(rows)}
	for _, s := range rows {
		if s.spoil {
			section.Judge(s.Verdict) // what it violates, it must
		} else {
			section.Judge(s.Verdict, s.Violations...)
		}
	}
	summary := "Coupons in segments are sold over shards through two instances, and parts of Vitess fail while stock " +
		"moves between segments. Every promise is judged by the shards' own servers."
	report.Say("%s", summary)
	return errors.Join(failed, report.ConcludeRows(ctx, r.stack, "vitess", rows, report.Report{
		Title: "A sharded database", Summary: summary, Sections: []report.Section{section},
	}))
}

// shard starts Vitess and two instances, and sells for each row.
func (r *run) shard(
	ctx context.Context, plan lab.VitessPlan, rows func(context.Context, *lab.Vitess) []*Sharding,
) (done []*Sharding, err error) {
	err = r.withVitess(plan, func(v *lab.Vitess, f *fleet) error {
		all := rows(ctx, v)
		for _, s := range all {
			s.run, s.vitess, s.fleet = r, v, f
		}
		done, err = trial.Run(ctx, all...)
		return err
	}, "EVENTS=true")
	return done, err
}

// withVitess runs job with Vitess and two instances, which migrate its keyspace.
func (r *run) withVitess(plan lab.VitessPlan, job func(*lab.Vitess, *fleet) error, settings ...string) error {
	plan.Bin, plan.Schema = "bin/vitess", "deploy/vitess"
	v, err := lab.StartVitess(r.stack.Lab, plan)
	if err != nil {
		return err
	}
	defer v.Kill()
	sale, err := r.stack.SaleAt("flashsale", v.DSN("flashsale"), append(settings, "LOG_LEVEL=error")...)
	if err != nil {
		return err
	}
	defer sale.Close()
	pair, err := sale.StartPair("api")
	if err != nil {
		return err
	}
	return errors.Join(job(v, &fleet{pair, sale}), pair.Stop())
}

func (s *Sharding) String() string { return "Vitess: " + s.Name }

// Run sells new coupons, and audits them on their shards.
func (s *Sharding) Run(ctx context.Context) (verdict.Verdict, error) {
	s.Shards, s.Violations, s.Moved, s.UnderWay = nil, nil, 0, 0
	s.closed.Store(false)
	all, err := s.offer(ctx)
	if err != nil {
		return "", err
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
	met, err := s.audit(ctx, all, struck, course.End)
	if err != nil {
		return "", err
	}
	if s.fault == nil && !s.spoil {
		if err := s.expire(ctx); err != nil {
			return "", err
		}
	}
	s.Verdict = verdict.Of(s.spoil, len(s.Violations) > 0, met && (s.fault == nil || s.UnderWay > 0))
	return s.Verdict, nil
}

// schedule is that of the fault, which strikes while units are under way; then all is sold.
func (s *Sharding) schedule(all []*buyers) trial.Schedule {
	if s.fault == nil {
		return trial.Schedule{Loaded: true}
	}
	one := *s.fault
	one.Strike = func(ctx context.Context) error {
		for begin := time.Now(); s.UnderWay <= 0 && time.Since(begin) < settleLimit; {
			var err error
			if s.UnderWay, err = s.units(ctx, "TRUE"); err != nil {
				return err
			}
		}
		return s.fault.Strike(ctx)
	}
	return trial.Schedule{
		Faults: []fault.Fault{one}, Rest: calm, Loaded: true,
		Recovered: func(ctx context.Context, _ trial.Strike) error {
			for _, b := range all {
				if err := b.awaitSales(ctx); err != nil {
					return err
				}
			}
			s.closed.Store(true)
			return nil
		},
	}
}

// units sums up what the coupons of this sale count of transfers.
func (s *Sharding) units(ctx context.Context, of string) (n int, err error) {
	q := "SELECT COALESCE(SUM(units), 0) FROM coupon_transfers WHERE " + of
	return n, s.fleet.sale.DB.GetContext(ctx, &n, q)
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

// servers returns the server of each shard's primary.
func (s *Sharding) servers(ctx context.Context) (all []*lab.MySQL, err error) {
	for _, shard := range s.vitess.Shards {
		primary, err := s.vitess.Primary(ctx, shard)
		if err != nil {
			return nil, err
		}
		all = append(all, primary.MySQL)
	}
	return all, nil
}

// onEach executes a statement on the server of each shard, as nothing of the service does.
func (s *Sharding) onEach(ctx context.Context, q string, args ...any) error {
	servers, err := s.servers(ctx)
	if err != nil {
		return err
	}
	for _, m := range servers {
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

var shardedColumns = report.Columns[*Sharding]{
	report.Main("sale", func(s *Sharding) string { return s.Name }),
	report.Main("orders", func(s *Sharding) int { return s.Audit.Orders }),
	report.Main("moved", func(s *Sharding) int { return s.Moved }),
	report.Detail("under way", func(s *Sharding) int { return s.UnderWay }),
	report.Main("503s", func(s *Sharding) int { return s.Outage.Unavailable }),
	report.Main("gap of each shard", (*Sharding).gaps),
	report.Detail("oversold", func(s *Sharding) int { return s.Audit.Oversold }),
	report.Detail("twice", func(s *Sharding) int { return s.Audit.Duplicates }),
	report.Detail("left", func(s *Sharding) int { return s.Audit.StockLeft }),
	report.Main("missing", func(s *Sharding) int { return s.Audit.Missing }),
	report.Main("verdict", func(s *Sharding) verdict.Verdict { return s.Verdict }),
}

// gaps returns the longest time without an accepted claim of each shard.
func (s *Sharding) gaps() string {
	var all []string
	for _, shard := range s.Shards {
		if shard.Orders > 0 {
			all = append(all, fmt.Sprintf("%.1f", shard.Gap))
		}
	}
	return strings.Join(all, " / ") + " s"
}
