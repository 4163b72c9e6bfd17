package cluster

import (
	"context"
	"errors"

	"example.com/flashsale/internal/connect"
	"example.com/flashsale/internal/lab"
)

// members is how many members each cluster has.
const members = 3

// A site is a database cluster behind HAProxy, in one or more routings. Every member
// and each HAProxy is on a host of its own.
type site struct {
	cluster
	hosts    []*lab.Host // of the members
	routings []lab.Routing
	proxies  map[lab.Routing]proxy
}

// A cluster is what differs between Galera and Group Replication.
type cluster struct {
	name      string
	members   []*lab.MySQL
	await     func() error                // waits until all members take part
	reset     func(context.Context) error // makes the first member accept writes again
	conflicts func(context.Context) (conflicts, error)
	faults    func(s *site) []*Disruption
	kill      func()
}

// startCluster starts a cluster whose members are on hosts.
type startCluster func(l *lab.Lab, hosts []*lab.Host) (cluster, error)

// conflicts are how many transactions were aborted in favour of another member's.
type conflicts struct {
	bruteForce    int  // while they ran
	uncounted     bool // bruteForce is not known
	certification int  // at certification
}

// A proxy is HAProxy and its host.
type proxy struct {
	*lab.HAProxy
	host *lab.Host
}

// startSite starts a cluster and its proxies on hosts of network.
func startSite(l *lab.Lab, network *lab.Network, start startCluster, routings ...lab.Routing) (*site, error) {
	s := &site{routings: routings, proxies: map[lab.Routing]proxy{}}
	for range members {
		h, err := network.Host()
		if err != nil {
			return nil, err
		}
		s.hosts = append(s.hosts, h)
	}
	var err error
	if s.cluster, err = start(l, s.hosts); err != nil {
		return nil, err
	}
	for _, routing := range routings {
		h, err := network.Host()
		if err != nil {
			return nil, err
		}
		haproxy, err := lab.StartHAProxyOn(l, h, routing, s.members...)
		if err != nil {
			return nil, err
		}
		s.proxies[routing] = proxy{haproxy, h}
	}
	return s, nil
}

// stop ends all servers.
func (s *site) stop() {
	for _, p := range s.proxies {
		p.Kill()
	}
	s.kill()
}

// awaitCoupon waits until every server has the coupon of f.
func awaitCoupon(ctx context.Context, servers []*lab.MySQL, f *fleet, coupon int64) error {
	for _, m := range servers {
		db, err := connect.MySQL(m.SyncedDSN(f.sale.Name), 1)
		if err != nil {
			return err
		}
		var id int64
		err = db.GetContext(ctx, &id, "SELECT id FROM coupons WHERE id = ?", coupon)
		if err := errors.Join(err, db.Close()); err != nil {
			return err
		}
	}
	return nil
}
