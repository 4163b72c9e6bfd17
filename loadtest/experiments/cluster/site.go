package cluster

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"example.com/flashsale/internal/connect"
	"example.com/flashsale/internal/lab"
	"example.com/flashsale/loadtest/rig"
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
	for _, name := range []struct {
		status string
		sum    *int
	}{{"wsrep_local_bf_aborts", &bruteForce}, {"wsrep_local_cert_failures", &certification}} {
		for _, node := range s.galera.Nodes {
			text, statusErr := status(ctx, node, name.status)
			n, parseErr := strconv.Atoi(text)
			*name.sum += n
			err = errors.Join(err, statusErr, parseErr)
		}
	}
	return bruteForce, certification, err
}

// status returns a status variable of m.
func status(ctx context.Context, m *lab.MySQL, name string) (value string, err error) {
	db, err := connect.MySQL(m.DSN("mysql"), 1)
	if err != nil {
		return "", err
	}
	defer db.Close()
	return value, db.QueryRowContext(ctx, "SHOW GLOBAL STATUS LIKE '"+name+"'").Scan(&name, &value)
}

// awaitSynced waits until all nodes are synced members of one cluster.
func (s *site) awaitSynced(ctx context.Context) error {
	var err error
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		if err = s.expectSynced(ctx); err == nil {
			return nil
		}
		if !rig.Sleep(ctx, 50*time.Millisecond) {
			return ctx.Err()
		}
	}
	return err
}

func (s *site) expectSynced(ctx context.Context) error {
	for i, node := range s.galera.Nodes {
		for name, want := range map[string]string{"wsrep_cluster_size": strconv.Itoa(nodes),
			"wsrep_local_state_comment": "Synced"} {
			if got, err := status(ctx, node, name); err != nil || got != want {
				return fmt.Errorf("node %d: %s is %q, want %s: %w", i+1, name, got, want, err)
			}
		}
	}
	return nil
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
