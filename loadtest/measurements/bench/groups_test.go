package bench

import (
	"fmt"
	"os"
	"testing"

	"github.com/jmoiron/sqlx"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/connect"
	"example.com/flashsale/internal/coupon"
	"example.com/flashsale/internal/lab"
	"example.com/flashsale/loadtest/rig"
)

// Three instances on three members of a Galera cluster or of a replication group behind HAProxy, of
// which one or all get claims, beside three instances on one server; and a stock in 16 segments there.
// The database server decides which groups there are, so only CLUSTER=groups make cluster runs it.
func BenchmarkGroups(b *testing.B) {
	if os.Getenv("CLUSTER") != "groups" {
		b.Skip("CLUSTER=groups runs it")
	}
	for _, g := range []struct {
		*lab.GroupKind
		routings []lab.Routing
	}{
		{lab.Galera, []lab.Routing{lab.OneWriter, lab.AllWriters}},
		{lab.SinglePrimary, []lab.Routing{lab.OneWriter}},
		{lab.MultiPrimary, []lab.Routing{lab.AllWriters}},
	} {
		b.Run(g.Name, func(b *testing.B) {
			if err := stack.MySQL.CanJoin(b.Context(), g.GroupKind); err != nil {
				b.Skip(err)
			}
			group, err := lab.StartGroup(stack.Lab, g.GroupKind, make([]*lab.Host, 3), "--max-connections=1000")
			check.NoError(b, err)
			b.Cleanup(group.Kill)
			for _, routing := range g.routings {
				proxy, err := lab.StartHAProxy(stack.Lab, nil, routing, group.Members...)
				check.NoError(b, err)
				b.Cleanup(proxy.Kill)
				for _, commit := range rig.Commits {
					b.Run(fmt.Sprintf("%s/commit=%s", routing, commit), func(b *testing.B) {
						besideOne(b, commit, onGroup(b, commit, group.Members, proxy), routing)
					})
				}
			}
		})
	}
}

// besideOne measures d beside the same on one server. Several writers may conflict less on several rows.
func besideOne(b *testing.B, commit string, d grouping, routing lab.Routing) {
	one := threeOf(commit).deploy(b).claims(closed(64))
	turns(b, "segments=1", one, d.sell(1))
	if routing == lab.AllWriters {
		turns(b, "segments=16", one, d.sell(16))
	}
}

// threeOf is three instances of the service behind nginx.
func threeOf(commit string) variant {
	v := service(commit)
	v.instances = 3
	return v
}

// A grouping is a deployment on a group. Each connection sees all that any member has committed before.
type grouping struct {
	*deployment
	members []*sqlx.DB
}

func onGroup(b *testing.B, commit string, members []*lab.MySQL, proxy *lab.HAProxy) (d grouping) {
	b.Helper()
	v := threeOf(commit)
	sale, err := stack.NewSaleOn(b.Context(), members[0], proxy.DSN, v.settings...)
	check.NoError(b, err)
	check.NoError(b, sale.Close())
	var pids []int
	for _, m := range members {
		db, err := connect.MySQL(m.SyncedDSN(sale.Name), 4)
		check.NoError(b, err)
		b.Cleanup(func() { _ = db.Close() })
		d.members, pids = append(d.members, db), append(pids, m.PID())
	}
	sale.DB = d.members[0]
	d.deployment = v.on(b, stack, sale, lab.StartNginx)
	d.servers[database], d.servers["haproxy"] = pids, []int{proxy.PID()}
	d.sell(1)(b) // connections, pools and heap have grown
	return d
}

// sell returns claims of a new coupon, which all members have before the first.
func (d grouping) sell(segments int) func(*testing.B) outcome {
	return func(b *testing.B) outcome {
		l, id := closed(64), d.add(b, unlimited, segments, coupon.Rules{PerUser: 1})
		l.Coupons = []int64{id}
		for _, db := range d.members {
			check.NoError(b, db.GetContext(b.Context(), new(int64), "SELECT id FROM coupons WHERE id = ?", id))
		}
		return d.claim(b, l)
	}
}
