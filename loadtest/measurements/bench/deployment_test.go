package bench

import (
	"cmp"
	"os"
	"testing"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/coupon"
	"example.com/flashsale/internal/lab"
	"example.com/flashsale/loadtest/clients"
	"example.com/flashsale/loadtest/generator"
	"example.com/flashsale/loadtest/rig"
)

// A variant is one implementation of the claim endpoint: a program of bin/ with its
// settings, and how many instances are behind nginx.
type variant struct {
	program   string
	settings  []string
	instances int // behind nginx; 0 is one without nginx
}

var (
	empty   = variant{program: "loadtest"} // accepts and does nothing else
	grouped = service("grouped")           // as shipped
)

// service is the service with a setting of COMMIT. API names another build of it.
func service(commit string) variant {
	return variant{cmp.Or(os.Getenv("API"), "api"), []string{"COMMIT=" + commit}, 0}
}

// behindNginx is v with two instances behind nginx.
func (v variant) behindNginx() variant {
	v.instances = 2
	return v
}

// A deployment is a variant on a sale of its own.
type deployment struct {
	variant
	*rig.Fleet
	sale    *rig.Sale
	stack   *rig.Stack
	servers map[string][]int // the processes of each server
}

// start starts v on a stack, and claims for a moment, so that connections, pools and heap have
// grown. It is stopped when b and its turns end.
func (v variant) start(b *testing.B, s *rig.Stack, nginx rig.StartNginx) *deployment {
	b.Helper()
	sale, err := s.NewSale(b.Context(), v.settings...)
	if err == nil && v.program != "api" { // an older build that knows rules of coupons works with a newer schema
		_, err = sale.DB.ExecContext(b.Context(), "UPDATE schema_compatibility SET oldest = 13")
	}
	check.NoError(b, err)
	d := v.on(b, s, sale, nginx)
	d.claim(b, closed(defaultConns))
	return d
}

// on starts v on a sale.
func (v variant) on(b *testing.B, s *rig.Stack, sale *rig.Sale, nginx rig.StartNginx) *deployment {
	b.Helper()
	if v.instances == 0 {
		nginx = nil
	}
	fleet, err := sale.StartFleet(v.program, nginx, make([][]string, max(v.instances, 1))...)
	check.NoError(b, err)
	b.Cleanup(func() { _, _ = fleet.Stop(), sale.Close() })
	servers := map[string][]int{database: {s.MySQL.PID()}, redisServer: {s.Redis.PID()}}
	return &deployment{v, fleet, sale, s, servers}
}

// PIDs returns the process ids of the instances.
func (d *deployment) PIDs() (pids []int) {
	for _, api := range d.Instances {
		pids = append(pids, api.PID())
	}
	return pids
}

// deploy is start on the servers of all benchmarks.
func (v variant) deploy(b *testing.B) *deployment {
	b.Helper()
	return v.start(b, stack, lab.StartNginx)
}

const defaultConns = 256

// closed is a closed model of clients whose connections are open before.
func closed(conns int) clients.Load {
	return clients.Load{Connect: conns, Phases: []generator.Phase{{Clients: conns, Duration: slice}}}
}

const unlimited = 100_000_000 // no benchmark claims so many

// add adds a coupon to the sale: with that stock in segments, or with rules.
func (d *deployment) add(b *testing.B, stock, segments int, rules coupon.Rules) int64 {
	b.Helper()
	id, err := d.sale.AddCouponWithRules(b.Context(), stock, segments, rules)
	check.NoError(b, err)
	return id
}

// claims returns claim with l.
func (d *deployment) claims(l clients.Load) func(*testing.B) outcome {
	return func(b *testing.B) outcome { return d.claim(b, l) }
}

// claim sends l to its coupons, or to a new one that does not sell out. It compares the
// acknowledged claims with the orders in the database: without a sale that holds, no
// figure counts.
func (d *deployment) claim(b *testing.B, l clients.Load) outcome {
	b.Helper()
	if len(l.Coupons) == 0 {
		l.Coupons = []int64{d.add(b, unlimited, 1, coupon.Rules{PerUser: 1})}
	}
	o := d.send(b, l, rig.Accepted)
	if d.program != empty.program { // which has no orders
		d.check(b, l, o)
	}
	return o
}

// check fails b if stock and orders do not add up, if a coupon is oversold or a user has too many orders
// of it, or if there are fewer orders than claims acknowledged, or more than sent: the outcome of a claim
// without a verdict is unknown.
func (d *deployment) check(b *testing.B, l clients.Load, o outcome) {
	b.Helper()
	acknowledged, sent := 0, 0
	for _, r := range o.phases {
		acknowledged, sent = acknowledged+r.Replies(rig.Accepted), sent+len(r.Claims)
	}
	if sent > users*max(l.Numbers, 1) {
		b.Fatalf("%d users are too few for this machine", users)
	}
	accounts, err := d.sale.Accounts(b.Context(), l.Coupons...)
	orders := rig.Total(accounts, 0).Orders
	if err != nil || len(rig.Broken(accounts...)) > 0 || orders < acknowledged || orders > sent {
		b.Fatalf("%v; of %d claims %d were acknowledged, and the database says %+v", err, sent, acknowledged, accounts)
	}
}

// send sends l to d. The verdict is that of the replies that count.
func (d *deployment) send(b *testing.B, l clients.Load, verdict string) outcome {
	b.Helper()
	l.Address = d.Address()
	if l.Headers.Count == 0 {
		l.Headers = headers
	}
	stopSampling := lab.SampleMemory(d.PIDs()...)
	before := d.cpu(b)
	phases, err := l.Run(b.Context())
	check.NoError(b, err)
	o := outcome{phases: phases, verdict: verdict, cpu: d.cpu(b)}
	for process, used := range before {
		o.cpu[process] -= used
	}
	o.memory, err = stopSampling()
	check.NoError(b, err)
	return o
}
