package cluster

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"

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
	Name     string     `json:"name"`
	Shards   []*Sharded `json:"shards"` // when the sale is over
	Outage   Outage     `json:"outage"`
	Moved    int        `json:"moved"`     // units, between segments
	UnderWay int        `json:"under_way"` // of them, when the fault struck
	Audit    Audit      `json:"audit"`     // of all shards
	trial.Judged

	run    *run
	vitess *lab.Vitess
	fleet  *rig.Fleet
	fault  *fault.Fault // nil: the coupons are sold out, and their orders expire
	spoil  bool         // an order is deleted on its shard: the audit has to find that
	closed atomic.Bool  // nothing more is put on sale
}

// A Sharded is a shard's part of a sale.
type Sharded struct {
	Orders int     `json:"orders"`
	Gap    float64 `json:"longest_gap_s"` // between two accepted claims whose orders it has, around the fault
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
	section := trial.Section("Sales over shards of Vitess", "", shardedColumns, rows)
	summary := "Coupons in segments are sold over shards through two instances, and parts of Vitess fail while stock " +
		"moves between segments. Every promise is judged by the shards' own servers."
	report.Say("%s", summary)
	return errors.Join(failed, report.ConcludeRows(ctx, r.stack, "vitess", rows, report.Report{
		Title: "A sharded database", Summary: summary, Sections: []report.Section{section},
	}))
}

// shard starts Vitess and two instances, which migrate its keyspace, and sells for each row.
func (r *run) shard(
	ctx context.Context, plan lab.VitessPlan, rows func(context.Context, *lab.Vitess) []*Sharding,
) (done []*Sharding, err error) {
	plan.Bin, plan.Schema = "bin/vitess", "deploy/vitess"
	v, err := lab.StartVitess(r.stack.Lab, plan)
	if err != nil {
		return nil, err
	}
	defer v.Kill()
	sale, err := r.stack.SaleAt("flashsale", v.DSN("flashsale"), "EVENTS=true", "LOG_LEVEL=error")
	if err != nil {
		return nil, err
	}
	err = sale.With(2, func(f *rig.Fleet) error {
		all := rows(ctx, v)
		for _, s := range all {
			s.run, s.vitess, s.fleet = r, v, f
		}
		done, err = trial.Run(ctx, all...)
		return err
	})
	return done, err
}

func (s *Sharding) String() string { return "Vitess: " + s.Name }

var shardedColumns = report.Columns[*Sharding]{
	report.Main("sale", func(s *Sharding) string { return s.Name }),
	report.Main("orders", func(s *Sharding) int { return s.Audit.Orders }),
	report.Main("moved", func(s *Sharding) int { return s.Moved }),
	report.Detail("under way", func(s *Sharding) int { return s.UnderWay }),
	report.Main("503s", func(s *Sharding) int { return s.Outage.Unavailable }),
	report.Main("gap of each shard", (*Sharding).gaps),
	report.Detail("oversold", func(s *Sharding) int { return s.Audit.Oversold() }),
	report.Detail("twice", func(s *Sharding) int { return s.Audit.Duplicates }),
	report.Detail("left", func(s *Sharding) int { return s.Audit.Stock }),
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
