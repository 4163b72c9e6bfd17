package cluster

import (
	"context"
	"fmt"

	"github.com/jmoiron/sqlx"

	"example.com/flashsale/internal/lab"
	"example.com/flashsale/loadtest/clients"
	"example.com/flashsale/loadtest/generator"
	"example.com/flashsale/loadtest/rig"
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
	for _, received := range r.Times(r.Ended, rig.Accepted) {
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
		used, err := lab.CPUTime(pids...)
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
