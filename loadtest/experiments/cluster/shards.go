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
	"example.com/flashsale/loadtest/trial"
	"example.com/flashsale/loadtest/verdict"
)

const (
	masters  = 3 // of the Redis Cluster; its other nodes are replicas
	turns    = 5
	turnTime = 4 * time.Second
	// rateUsers is more than claim in a turn.
	rateUsers = 240_000
)

// Shards is the content of shards.json.
type Shards struct {
	rig.Environment
	Rates      []*ShardRate `json:"rates"`
	Costs      []*ShardRate `json:"costs"`
	Increments Increments   `json:"increments"`
	Pass       bool         `json:"pass"`
}

// With flushes of 5 ms, two cores are a part of the limit of four shards. Users choose a shard at random: of 28
// clients, seven wait for each of four shards on average, and hardly ever none.
var flushBounds = []ShardRate{
	{Commit: "each", FlushMS: 5, clients: 28}, {Commit: "each", FlushMS: 20, clients: 28},
	{Commit: "grouped", FlushMS: 5, clients: 64},
}

// runShardRates measures, in turns, what shards add where a flush takes 5 ms, and what a claim
// through vtgate costs beside one on MySQL. Locks and ids are on a Redis Cluster.
func runShardRates(ctx context.Context, r *run) (err error) {
	if err := r.stack.MySQL.CanJoin(ctx, lab.VitessShard); err != nil {
		return err
	}
	if r.redis, err = lab.StartTopology(r.stack.Lab, "cluster"); err != nil {
		return err
	}
	var all Shards
	for _, bound := range flushBounds {
		var group []*ShardRate
		for _, n := range []int{1, 2, 4} {
			one := bound
			one.Shards = n
			group = append(group, &one)
		}
		if err := r.measure(ctx, group); err != nil {
			return err
		}
		all.Rates = append(all.Rates, group...)
	}
	all.Costs = []*ShardRate{{Commit: "grouped", clients: 256}, {Commit: "grouped", Shards: 2, clients: 256}}
	if err := r.measure(ctx, all.Costs); err != nil {
		return err
	}
	if all.Increments, err = r.increments(ctx); err != nil {
		return err
	}
	if all.Environment, err = r.stack.Environment(ctx); err != nil {
		return err
	}
	section := trial.Section("Claims over shards, by one instance", "", shardRateColumns,
		slices.Concat(all.Rates, all.Costs))
	all.Pass = report.Pass(section)
	return report.Conclude("shards", all, report.Report{
		Title: "Shards", Environment: all.Environment, Pass: all.Pass, Sections: []report.Section{section},
	})
}

// measure measures rows A, B, C, A, B, C and so on. A first turn warms them up.
func (r *run) measure(ctx context.Context, rows []*ShardRate) error {
	headers, err := r.stack.Headers(rateUsers)
	if err != nil {
		return err
	}
	for _, row := range rows {
		stop, err := row.start(ctx, r)
		if err != nil {
			return err
		}
		defer stop()
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

// inRange is the median with the lowest and the highest value, if there are several.
func inRange(values []float64) string {
	if len(values) == 1 {
		return report.Number(values[0])
	}
	return fmt.Sprintf("%s (%s–%s)", report.Number(stats.Quantile(values, 0.5)), report.Number(slices.Min(values)),
		report.Number(slices.Max(values)))
}
