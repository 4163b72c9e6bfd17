package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/connect"
	"example.com/flashsale/internal/coupon"
	"example.com/flashsale/internal/idgen"
	"example.com/flashsale/internal/lab"
	"example.com/flashsale/loadtest/rig"
	"example.com/flashsale/loadtest/trial"
)

// What shards of Vitess add where a flush takes as long as on a disk, and what a claim through vtgate
// costs beside one on MySQL: at one instance, of a coupon with a segment on each shard. Locks and ids are
// on a Redis Cluster. It needs MySQL 8.0 or later, so only CLUSTER=shards make cluster runs it.
func BenchmarkShards(b *testing.B) {
	if os.Getenv("CLUSTER") != "shards" {
		b.Skip("CLUSTER=shards runs it")
	}
	check.NoError(b, stack.MySQL.CanJoin(b.Context(), lab.VitessShard))
	redis, err := lab.StartTopology(stack.Lab, "cluster")
	check.NoError(b, err)
	for _, commit := range []struct {
		name    string
		flush   time.Duration
		clients int
	}{{"each", 5 * time.Millisecond, 28}, {"each", 20 * time.Millisecond, 28}, {"grouped", 5 * time.Millisecond, 64}} {
		// With flushes of 5 ms, two cores are a part of the limit of four shards. Users choose a shard at random:
		// of 28 clients, seven wait for each of four shards on average, and hardly ever none.
		b.Run(fmt.Sprintf("commit=%s/flush=%s", commit.name, commit.flush), func(b *testing.B) {
			one := onShards(b, redis, commit.name, commit.clients, 1, commit.flush)
			for _, n := range []int{2, 4} {
				more := onShards(b, redis, commit.name, commit.clients, n, commit.flush)
				turns(b, fmt.Sprintf("shards=%d", n), one.sell, more.sell)
			}
		})
	}
	b.Run("cost", func(b *testing.B) {
		direct := onShards(b, redis, "grouped", defaultConns, 0, 0)
		turns(b, "beside=MySQL", direct.sell, onShards(b, redis, "grouped", defaultConns, 2, 0).sell)
	})
	b.Run("ids", func(b *testing.B) { countIDs(b, redis) })
}

// masters is how many masters the Redis Cluster has. Its other nodes are replicas.
const masters = 3

// A sharded deployment is one instance on shards, or on MySQL if there are none.
type sharded struct {
	*deployment
	clients, shards int
	redis           *lab.Topology
}

func onShards(
	b *testing.B, redis *lab.Topology, commit string, clients, shards int, flush time.Duration,
) sharded {
	b.Helper()
	settings := []string{"REDIS_URL=" + redis.URL, "COMMIT=" + commit, "LOG_LEVEL=error", "USER_RATE=0"}
	servers := map[string][]int{
		redisServer: pids(redis.Nodes[:masters]), "redis-replicas": pids(redis.Nodes[masters:]),
	}
	var sale *rig.Sale
	var err error
	if shards == 0 {
		servers[database] = []int{stack.MySQL.PID()}
		sale, err = stack.NewSale(b.Context(), settings...)
	} else {
		sale, err = startVitess(b, servers, lab.VitessPlan{Shards: shards, Flush: flush}, settings)
	}
	check.NoError(b, err)
	d := sharded{service(commit).on(b, stack, sale, nil), clients, shards, redis}
	d.servers = servers
	d.sell(b) // connections, pools and heap have grown
	return d
}

func startVitess(
	b *testing.B, servers map[string][]int, plan lab.VitessPlan, settings []string,
) (*rig.Sale, error) {
	b.Helper()
	plan.Bin, plan.Schema = "bin/vitess", "deploy/vitess"
	v, err := lab.StartVitess(stack.Lab, plan)
	check.NoError(b, err)
	b.Cleanup(v.Kill)
	servers["vtgate"] = []int{v.Gate.PID()}
	for _, s := range v.Shards {
		servers[database] = append(servers[database], s.Tablets[0].MySQL.PID())
		servers["vttablet"] = append(servers["vttablet"], s.Tablets[0].PID())
	}
	return stack.SaleAt("flashsale", v.DSN("flashsale"), settings...)
}

func pids(nodes []*lab.Redis) (all []int) {
	for _, node := range nodes {
		all = append(all, node.PID())
	}
	return all
}

// sell claims a new coupon. All claims must be accepted. It reports the ids for each request to their
// counter.
func (d sharded) sell(b *testing.B) outcome {
	b.Helper()
	id := d.add(b, unlimited/10, max(1, d.shards), coupon.Rules{PerUser: 1})
	l := closed(d.clients)
	l.Coupons, l.Phases[0].Duration = []int64{id}, 3*slice // a flush of 20 ms leaves few
	before := idRequests(b, d.redis)
	o, orders := d.send(b, l, rig.Accepted), 0
	made := o.phases[0].Replies(rig.Accepted)
	b.ReportMetric(float64(made)/(idRequests(b, d.redis)-before), "ids-per-request")
	const q = "SELECT COUNT(*) FROM coupon_orders WHERE coupon_id = ?"
	check.NoError(b, d.sale.DB.GetContext(b.Context(), &orders, q, id))
	if sent := len(o.phases[0].Claims); made < sent || orders != made {
		b.Fatalf("of %d claims %d were accepted, and there are %d orders", sent, made, orders)
	}
	return o
}

// idRequests returns how often ids were reserved: nothing else of the service sets a hash.
func idRequests(b *testing.B, redis *lab.Topology) (all float64) {
	b.Helper()
	for _, node := range redis.Nodes[:masters] {
		rdb, err := connect.Redis(node.URL, 1)
		check.NoError(b, err)
		text, err := rdb.Info(b.Context(), "commandstats").Result()
		if _, after, found := strings.Cut(text, "cmdstat_hset:calls="); err == nil && found {
			var n float64
			_, err = fmt.Sscanf(after, "%f", &n)
			all += n
		}
		check.NoError(b, errors.Join(err, rdb.Close()))
	}
	return all
}

// countIDs asks the counter of ids, whose key is on one master, from many clients at once, for one block
// after the other.
func countIDs(b *testing.B, redis *lab.Topology) {
	b.Helper()
	rdb, err := connect.Redis(redis.URL, 64)
	check.NoError(b, err)
	defer rdb.Close()
	for b.Loop() {
		var made atomic.Int64
		_, err := trial.Schedule{Rest: slice}.Run(b.Context(), trial.Clients(64, func(during context.Context, _ int) {
			for during.Err() == nil {
				if _, err := idgen.New(rdb, "order").Next(b.Context()); err == nil { // a new worker has no block left
					made.Add(1)
				}
			}
		}))
		check.NoError(b, err)
		b.ReportMetric(0, "ns/op")
		b.ReportMetric(float64(made.Load())/slice.Seconds(), "per-s")
	}
}
