package cluster

import (
	"context"
	"errors"
	"strconv"

	"example.com/flashsale/internal/connect"
	"example.com/flashsale/internal/lab"
)

// nodes is how many nodes the Galera cluster has.
const nodes = 3

// A site is a Galera cluster behind HAProxy, in each routing. Every node and each
// HAProxy is on a host of its own.
type site struct {
	galera  *lab.Galera
	hosts   []*lab.Host // of the nodes
	proxies map[lab.Routing]proxy
}

// A proxy is HAProxy and its host.
type proxy struct {
	*lab.HAProxy
	host *lab.Host
}

var routings = []lab.Routing{lab.OneWriter, lab.AllWriters}

// startSite starts the site on hosts of network.
func startSite(l *lab.Lab, network *lab.Network) (*site, error) {
	s := &site{proxies: map[lab.Routing]proxy{}}
	for range nodes {
		h, err := network.Host()
		if err != nil {
			return nil, err
		}
		s.hosts = append(s.hosts, h)
	}
	var err error
	if s.galera, err = lab.StartGaleraOn(l, s.hosts, "--max-connections=1000"); err != nil {
		return nil, err
	}
	for _, routing := range routings {
		h, err := network.Host()
		if err != nil {
			return nil, err
		}
		haproxy, err := lab.StartHAProxyOn(l, h, routing, s.galera.Nodes...)
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
	s.galera.Kill()
}

// conflicts returns how many transactions the nodes have aborted in favour of
// another node's, before and at certification.
func (s *site) conflicts(ctx context.Context) (bruteForce, certification int, err error) {
	sum := func(status string) (total int) {
		for _, node := range s.galera.Nodes {
			text, statusErr := node.Status(ctx, status)
			n, parseErr := strconv.Atoi(text)
			total, err = total+n, errors.Join(err, statusErr, parseErr)
		}
		return total
	}
	bruteForce, certification = sum("wsrep_local_bf_aborts"), sum("wsrep_local_cert_failures")
	return bruteForce, certification, err
}

// awaitCoupon waits until every node has the coupon of f.
func (s *site) awaitCoupon(ctx context.Context, f *fleet, coupon int64) error {
	for _, node := range s.galera.Nodes {
		db, err := connect.MySQL(node.DSN(f.sale.Name)+"?wsrep_sync_wait=1", 1)
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
