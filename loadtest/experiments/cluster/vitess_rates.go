package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jmoiron/sqlx"

	"example.com/flashsale/internal/connect"
	"example.com/flashsale/internal/idgen"
	"example.com/flashsale/internal/lab"
	"example.com/flashsale/loadtest/clients"
	"example.com/flashsale/loadtest/generator"
	"example.com/flashsale/loadtest/report"
	"example.com/flashsale/loadtest/rig"
	"example.com/flashsale/loadtest/stats"
	"example.com/flashsale/loadtest/trial"
	"example.com/flashsale/loadtest/verdict"
)

// A ShardRate is how fast one instance sells where each shard has one row of the stock.
type ShardRate struct {
	Commit    string               `json:"commit"`
	Database  string               `json:"database"`
	Shards    int                  `json:"shards"`
	FlushMS   int64                `json:"flush_ms"`     // 0 if as long as it takes
	PerSecond []float64            `json:"claims_per_s"` // of each repetition
	Ratio     []float64            `json:"ratio"`        // to the first row of its group, in the same turn
	CPU       map[string][]float64 `json:"us_per_claim"` // of each kind of process
	// IDs are the ids for each request to the counter, whose key is in one slot of the Redis Cluster.
	IDs        []float64       `json:"ids_per_request"`
	Violations []string        `json:"violations"`
	Verdict    verdict.Verdict `json:"verdict"`

	clients int
	fleet   *fleet
	coupons []int64
	made    int // claims that were accepted, of all turns
	pids    map[string][]int
	nodes   []*lab.Redis
}

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

func (row *ShardRate) String() string {
	return fmt.Sprintf("%s, %s, %d shards, flushes of %d ms", row.Commit, row.Database, row.Shards, row.FlushMS)
}

// turn claims for users from first on.
func (row *ShardRate) turn(ctx context.Context, headers rig.Headers, first int) error {
	before, err := row.used(ctx)
	if err != nil {
		return err
	}
	l := clients.Load{
		Address: row.fleet.Address(), Coupons: row.coupons, Headers: headers, First: first, Connect: row.clients,
		Phases: []generator.Phase{{Clients: row.clients, Duration: turnTime}},
	}
	results, err := l.Run(ctx)
	if err != nil {
		return err
	}
	after, err := row.used(ctx)
	if err != nil {
		return err
	}
	row.record(results[0], before, after)
	return row.judge(ctx, results[0])
}

// record adds what a turn was like.
func (row *ShardRate) record(r clients.Result, before, after map[string]float64) {
	made := float64(r.Replies(rig.Accepted))
	inTime := 0 // while all clients claim
	for _, received := range r.Times(func(c clients.Claim) time.Duration { return c.Received }, rig.Accepted) {
		if received <= turnTime {
			inTime++
		}
	}
	row.PerSecond = append(row.PerSecond, float64(inTime)/turnTime.Seconds())
	row.IDs = append(row.IDs, made/(after["ids"]-before["ids"]))
	if row.CPU == nil {
		row.CPU = map[string][]float64{}
	}
	all := 0.0
	for kind := range row.pids {
		used := (after[kind] - before[kind]) / made
		row.CPU[kind], all = append(row.CPU[kind], used), all+used
	}
	row.CPU["all"] = append(row.CPU["all"], all)
}

// judge wants every claim accepted, and one order for each of all turns.
func (row *ShardRate) judge(ctx context.Context, r clients.Result) error {
	made := r.Replies(rig.Accepted)
	row.made += made
	orders, err := row.orders(ctx)
	if made < len(r.Claims) || orders != row.made {
		row.Violations = append(row.Violations, fmt.Sprintf("%s: of %d claims %d were accepted; %d in all, and %d orders",
			row, len(r.Claims), made, row.made, orders))
	}
	row.Verdict = verdict.Of(false, len(row.Violations) > 0, made > 0)
	return err
}

// orders counts the orders of the row's coupons.
func (row *ShardRate) orders(ctx context.Context) (n int, err error) {
	q, args, err := sqlx.In("SELECT COUNT(*) FROM coupon_orders WHERE coupon_id IN (?)", row.coupons)
	if err != nil {
		return 0, err
	}
	return n, row.fleet.sale.DB.GetContext(ctx, &n, q, args...)
}

// used returns the CPU time of each kind of process in µs, and the requests to the counter of ids.
func (row *ShardRate) used(ctx context.Context) (map[string]float64, error) {
	all := map[string]float64{}
	for kind, pids := range row.pids {
		used, err := rig.CPUTime(pids...)
		if err != nil {
			return nil, err
		}
		all[kind] = float64(used.Microseconds())
	}
	for _, node := range row.nodes {
		n, err := idRequests(ctx, node)
		if err != nil {
			return nil, err
		}
		all["ids"] += n
	}
	return all, nil
}

// idRequests returns how often a node of Redis has reserved ids: nothing else of the service sets a hash.
func idRequests(ctx context.Context, node *lab.Redis) (n float64, err error) {
	rdb, err := connect.Redis(node.URL, 1)
	if err != nil {
		return 0, err
	}
	defer rdb.Close()
	text, err := rdb.Info(ctx, "commandstats").Result()
	if err != nil {
		return 0, err
	}
	if _, after, found := strings.Cut(text, "cmdstat_hset:calls="); found {
		_, err = fmt.Sscanf(after, "%f", &n)
	}
	return n, err
}

// Increments are what the counter of ids allows: its key is on one master.
type Increments struct {
	PerSecond []float64 `json:"per_s"`
	CPU       []float64 `json:"us"` // of that master, for each
}

// increments asks the counter of ids from many clients at once, for one block after the other.
func (r *run) increments(ctx context.Context) (all Increments, err error) {
	rdb, err := connect.Redis(r.redis.URL, buyerCount)
	if err != nil {
		return all, err
	}
	defer rdb.Close()
	var pids []int
	for _, node := range r.redis.Nodes[:masters] {
		pids = append(pids, node.PID())
	}
	for range turns {
		before, err := rig.CPUTime(pids...)
		if err != nil {
			return all, err
		}
		during, stop := context.WithTimeout(ctx, turnTime)
		var made atomic.Int64
		err = trial.Clients(buyerCount, func(context.Context, int) {
			for during.Err() == nil {
				if _, err := idgen.New(rdb, "order").Next(ctx); err == nil { // a new worker has no block left
					made.Add(1)
				}
			}
		})(ctx)
		stop()
		after, cpuErr := rig.CPUTime(pids...)
		if err := errors.Join(err, cpuErr, ctx.Err()); err != nil {
			return all, err
		}
		all.PerSecond = append(all.PerSecond, float64(made.Load())/turnTime.Seconds())
		all.CPU = append(all.CPU, float64((after-before).Microseconds())/float64(made.Load()))
	}
	return all, nil
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
