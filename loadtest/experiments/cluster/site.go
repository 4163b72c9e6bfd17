package cluster

import (
	"context"

	"github.com/jmoiron/sqlx"

	"example.com/flashsale/internal/lab"
	"example.com/flashsale/loadtest/rig"
)

// members is how many members each cluster has.
const members = 3

// A kind is how the members of a cluster replicate.
type kind struct {
	*lab.GroupKind
	routings []lab.Routing
	faults   func(*site) []*Disruption
}

var kinds = []kind{
	{lab.Galera, []lab.Routing{lab.OneWriter, lab.AllWriters}, galeraFaults},
	{lab.SinglePrimary, []lab.Routing{lab.OneWriter}, primaryFaults},
	{lab.MultiPrimary, []lab.Routing{lab.AllWriters}, multiPrimaryFaults},
}

// A site is a database cluster behind HAProxy, in one or more routings. Every member
// and each HAProxy is on a host of its own.
type site struct {
	kind
	*lab.Group
	hosts   []*lab.Host // of the members
	proxies map[lab.Routing]*lab.HAProxy
}

// startSite starts a cluster and its proxies on hosts of network.
func startSite(l *lab.Lab, network *lab.Network, k kind) (*site, error) {
	s := &site{kind: k, proxies: map[lab.Routing]*lab.HAProxy{}}
	for range members {
		h, err := network.Host()
		if err != nil {
			return nil, err
		}
		s.hosts = append(s.hosts, h)
	}
	var err error
	if s.Group, err = lab.StartGroup(l, k.GroupKind, s.hosts, "--max-connections=1000"); err != nil {
		return nil, err
	}
	for _, routing := range k.routings {
		h, err := network.Host()
		if err != nil {
			return nil, err
		}
		if s.proxies[routing], err = lab.StartHAProxy(l, h, routing, s.Members...); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// reset makes the first member accept writes again, as an operator may when it is back.
func (s *site) reset(ctx context.Context) error {
	if s.GroupKind != lab.SinglePrimary {
		return nil
	}
	return s.Members[0].MakePrimary(ctx)
}

// stop ends all servers.
func (s *site) stop() {
	for _, p := range s.proxies {
		p.Kill()
	}
	s.Kill()
}

// unlimitedStock is never sold out.
const unlimitedStock = 10_000_000

// instances is how many instances of the service a fleet has.
const instances = 3

// offer adds a coupon that is never sold out, and waits until every server has it.
func offer(ctx context.Context, f *rig.Fleet, servers ...*lab.MySQL) (*buyers, error) {
	id, err := f.AddCoupon(ctx, unlimitedStock)
	if err != nil {
		return nil, err
	}
	for _, m := range servers {
		err := ask(m, f.Name, func(db *sqlx.DB) error {
			return db.GetContext(ctx, new(int64), "SELECT id FROM coupons WHERE id = ?", id)
		})
		if err != nil {
			return nil, err
		}
	}
	return &buyers{coupon: id, users: rig.UserID}, nil
}
