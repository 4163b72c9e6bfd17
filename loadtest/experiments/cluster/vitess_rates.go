package cluster

import (
	"context"
	"fmt"
	"slices"
	"time"

	"example.com/flashsale/internal/lab"
	"example.com/flashsale/loadtest/report"
	"example.com/flashsale/loadtest/rig"
	"example.com/flashsale/loadtest/stats"
	"example.com/flashsale/loadtest/verdict"
)

const (
	masters  = 3 // of the Redis Cluster; its other nodes are replicas
	turns    = 5
	turnTime = 4 * time.Second
	// rateUsers is more than claim in a turn.
	rateUsers = 240_000
)

// runShardRates measures, in turns, what shards add where a flush takes 5 ms, and what a claim
// through vtgate costs beside one on MySQL. Locks and ids are on a Redis Cluster.
func runShardRates(ctx context.Context, r *run) (err error) {
	if err := r.stack.MySQL.CanJoin(ctx, lab.VitessShard); err != nil {
		return err
	}
	if r.redis, err = lab.StartTopology(r.stack.Lab, "cluster"); err != nil {
		return err
	}
	var rows []*ShardRate
	for _, bound := range flushBounds {
		group, err := r.flushBound(ctx, bound)
		if err != nil {
			return err
		}
		rows = append(rows, group...)
	}
	costs, err := r.costs(ctx)
	if err != nil {
		return err
	}
	section := report.Section{
		Title: "Claims over shards, by one instance", Table: shardRateColumns.Table(append(rows, costs...)),
	}
	for _, row := range append(rows, costs...) {
		section.Judge(row.Verdict, row.Violations...)
	}
	increments, err := r.increments(ctx)
	if err != nil {
		return err
	}
	result := struct {
		rig.Environment
		Rates      []*ShardRate `json:"rates"`
		Costs      []*ShardRate `json:"costs"`
		Increments Increments   `json:"increments"`
		Pass       bool         `json:"pass"`
	}{Rates: rows, Costs: costs, Increments: increments, Pass: report.Pass(section)}
	if result.Environment, err = r.stack.Environment(ctx); err != nil {
		return err
	}
	return report.Conclude("shards", result, report.Report{
		Title: "Shards", Environment: result.Environment, Pass: result.Pass, Sections: []report.Section{section},
	})
}

// A flushBound is what flushes may be the limit of.
type flushBound struct {
	commit  string
	flush   time.Duration
	clients int
}

// With flushes of 5 ms, two cores are a part of the limit of four shards. Users choose a shard at random: of 28
// clients, seven wait for each of four shards on average, and hardly ever none.
var flushBounds = []flushBound{
	{"each", 5 * time.Millisecond, 28}, {"each", 20 * time.Millisecond, 28}, {"grouped", 5 * time.Millisecond, 64},
}

// flushBound compares one, two and four shards.
func (r *run) flushBound(ctx context.Context, bound flushBound) (rows []*ShardRate, err error) {
	for _, n := range []int{1, 2, 4} {
		row, stop, err := r.deploy(ctx, lab.VitessPlan{Shards: n, Flush: bound.flush}, bound.commit)
		if err != nil {
			return nil, err
		}
		defer stop()
		row.clients, row.FlushMS = bound.clients, bound.flush.Milliseconds()
		rows = append(rows, row)
	}
	return rows, r.measureInTurns(ctx, rows)
}

// costs compares two shards with one MySQL.
func (r *run) costs(ctx context.Context) ([]*ShardRate, error) {
	direct, stop, err := r.deploy(ctx, lab.VitessPlan{}, "grouped")
	if err != nil {
		return nil, err
	}
	defer stop()
	sharded, stop, err := r.deploy(ctx, lab.VitessPlan{Shards: 2}, "grouped")
	if err != nil {
		return nil, err
	}
	defer stop()
	rows := []*ShardRate{direct, sharded}
	direct.clients, sharded.clients = 256, 256
	return rows, r.measureInTurns(ctx, rows)
}

// deploy starts an instance on shards, or on the stack's MySQL if the plan has none, and adds a coupon
// with a segment on each shard.
func (r *run) deploy(ctx context.Context, plan lab.VitessPlan, commit string) (*ShardRate, func(), error) {
	row := &ShardRate{Commit: commit, Database: "MySQL", Shards: plan.Shards, nodes: r.redis.Nodes[:masters]}
	stop := func() {}
	row.pids = map[string][]int{"mysqld": {r.stack.MySQL.PID()}}
	settings := []string{"REDIS_URL=" + r.redis.URL, "COMMIT=" + commit, "LOG_LEVEL=error", "USER_RATE=0"}
	var sale *rig.Sale
	var err error
	if plan.Shards == 0 {
		sale, err = r.stack.NewSale(ctx, settings...)
	} else {
		plan.Bin, plan.Schema = "bin/vitess", "deploy/vitess"
		var v *lab.Vitess
		if v, err = lab.StartVitess(r.stack.Lab, plan); err != nil {
			return nil, nil, err
		}
		stop, row.Database = v.Kill, "Vitess"
		row.pids = map[string][]int{"vtgate": {v.Gate.PID()}}
		for _, s := range v.Shards {
			row.pids["mysqld"] = append(row.pids["mysqld"], s.Tablets[0].MySQL.PID())
			row.pids["vttablet"] = append(row.pids["vttablet"], s.Tablets[0].PID())
		}
		sale, err = r.stack.SaleAt("flashsale", v.DSN("flashsale"), settings...)
	}
	if err != nil {
		return nil, nil, err
	}
	f, err := sale.StartFleet("api", nil, nil)
	if err != nil {
		return nil, nil, err
	}
	row.fleet, row.pids["service"] = &fleet{f, sale}, f.PIDs()
	for i, node := range r.redis.Nodes {
		kind := "redis"
		if i >= masters {
			kind = "redis replicas"
		}
		row.pids[kind] = append(row.pids[kind], node.PID())
	}
	id, err := sale.AddSplitCoupon(ctx, unlimitedStock, max(1, plan.Shards))
	row.coupons = []int64{id}
	return row, func() { _, _ = f.Stop(), sale.Close(); stop() }, err
}

// measureInTurns measures rows A, B, C, A, B, C and so on. A first turn warms them up.
func (r *run) measureInTurns(ctx context.Context, rows []*ShardRate) error {
	headers, err := r.stack.Headers(rateUsers)
	if err != nil {
		return err
	}
	steps := rig.NewSteps((1 + turns) * len(rows))
	for turn := range 1 + turns {
		for _, row := range rows {
			steps.Next("%s", row)
			if turn == 1 {
				row.PerSecond, row.Ratio, row.IDs, row.CPU = nil, nil, nil, nil
			}
			if err := row.turn(ctx, headers, turn*rateUsers/(1+turns)); err != nil {
				return fmt.Errorf("%s: %w", row, err)
			}
			of := rows[0].PerSecond
			row.Ratio = append(row.Ratio, row.PerSecond[len(row.PerSecond)-1]/of[len(of)-1])
		}
	}
	return nil
}

var shardRateColumns = report.Columns[*ShardRate]{
	report.Main("COMMIT", func(r *ShardRate) string { return r.Commit }),
	report.Main("ms for a flush", func(r *ShardRate) int64 { return r.FlushMS }),
	report.Main("database", func(r *ShardRate) string { return r.Database }),
	report.Main("shards", func(r *ShardRate) int { return r.Shards }),
	report.Main("claims/s", func(r *ShardRate) string { return inRange(r.PerSecond) }),
	report.Main("ratio", func(r *ShardRate) string { return inRange(r.Ratio) }),
	report.Main("µs for a claim", func(r *ShardRate) string { return inRange(r.CPU["all"]) }),
	report.Detail("ids", func(r *ShardRate) string { return inRange(r.IDs) }),
	report.Main("verdict", func(r *ShardRate) verdict.Verdict { return r.Verdict }),
}

// inRange is the median with the lowest and the highest value.
func inRange(values []float64) string {
	return fmt.Sprintf("%s (%s–%s)", report.Number(stats.Quantile(values, 0.5)), report.Number(slices.Min(values)),
		report.Number(slices.Max(values)))
}
