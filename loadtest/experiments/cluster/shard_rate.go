package cluster

import (
	"context"
	"fmt"
	"time"

	"example.com/flashsale/internal/lab"
	"example.com/flashsale/loadtest/clients"
	"example.com/flashsale/loadtest/generator"
	"example.com/flashsale/loadtest/rig"
	"example.com/flashsale/loadtest/trial"
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
	IDs []float64 `json:"ids_per_request"`
	trial.Judged

	clients int
	fleet   *rig.Fleet
	coupon  int64
	made    int // claims that were accepted, of all turns
	pids    map[string][]int
	nodes   []*lab.Redis // the masters
}

func (row *ShardRate) String() string {
	return fmt.Sprintf("%s, %d shards, flushes of %d ms", row.Commit, row.Shards, row.FlushMS)
}

// start starts an instance on shards, or on the stack's MySQL if there are none, and adds a coupon
// with a segment on each shard.
func (row *ShardRate) start(ctx context.Context, r *run) (stop func(), err error) {
	row.nodes, row.pids = r.redis.Nodes[:masters], map[string][]int{}
	settings := []string{"REDIS_URL=" + r.redis.URL, "COMMIT=" + row.Commit, "LOG_LEVEL=error", "USER_RATE=0"}
	var sale *rig.Sale
	end := func() {}
	if row.Shards == 0 {
		row.Database, row.pids["mysqld"] = "MySQL", []int{r.stack.MySQL.PID()}
		sale, err = r.stack.NewSale(ctx, settings...)
	} else {
		plan := lab.VitessPlan{Shards: row.Shards, Flush: time.Duration(row.FlushMS) * time.Millisecond}
		var v *lab.Vitess
		if v, sale, err = r.startVitess(plan, settings...); err != nil {
			return nil, err
		}
		row.Database, row.pids["vtgate"], end = "Vitess", []int{v.Gate.PID()}, v.Kill
		for _, s := range v.Shards {
			row.pids["mysqld"] = append(row.pids["mysqld"], s.Tablets[0].MySQL.PID())
			row.pids["vttablet"] = append(row.pids["vttablet"], s.Tablets[0].PID())
		}
	}
	if err != nil {
		return nil, err
	}
	f, err := sale.StartFleet("api", nil, nil)
	if err != nil {
		return nil, err
	}
	row.fleet, row.pids["service"] = f, f.PIDs()
	row.pids["redis"], row.pids["redis replicas"] = pidsOf(row.nodes), pidsOf(r.redis.Nodes[masters:])
	row.coupon, err = sale.AddSplitCoupon(ctx, unlimitedStock, max(1, row.Shards))
	return func() { _, _ = f.Stop(), sale.Close(); end() }, err
}

func pidsOf(nodes []*lab.Redis) (pids []int) {
	for _, node := range nodes {
		pids = append(pids, node.PID())
	}
	return pids
}

// turn claims for users from first on.
func (row *ShardRate) turn(ctx context.Context, headers rig.Headers, first int) error {
	before, err := row.used(ctx)
	if err != nil {
		return err
	}
	l := clients.Load{
		Address: row.fleet.Address(), Coupons: []int64{row.coupon}, Headers: headers, First: first,
		Connect: row.clients, Phases: []generator.Phase{{Clients: row.clients, Duration: turnTime}},
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
	made, orders := r.Replies(rig.Accepted), 0
	row.made += made
	const q = "SELECT COUNT(*) FROM coupon_orders WHERE coupon_id = ?"
	err := row.fleet.DB.GetContext(ctx, &orders, q, row.coupon)
	broken := row.Violations
	if made < len(r.Claims) || orders != row.made {
		broken = append(broken, fmt.Sprintf("%s: of %d claims %d were accepted; %d in all, and %d orders",
			row, len(r.Claims), made, row.made, orders))
	}
	row.Judge(false, broken, made > 0)
	return err
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
