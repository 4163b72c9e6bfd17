package cluster

import (
	"context"
	"errors"
	"strconv"

	"example.com/flashsale/internal/lab"
	"example.com/flashsale/loadtest/fault"
)

type galera struct{ *lab.Galera }

func startGalera(l *lab.Lab, hosts []*lab.Host) (cluster, error) {
	g, err := lab.StartGaleraOn(l, hosts, "--max-connections=1000")
	return galera{g}, err
}

func (g galera) name() string                { return "Galera" }
func (g galera) members() []*lab.MySQL       { return g.Nodes }
func (g galera) await() error                { return g.AwaitSynced() }
func (g galera) reset(context.Context) error { return nil }

func (g galera) conflicts(ctx context.Context) (c conflicts, err error) {
	sum := func(status string) (total int) {
		for _, node := range g.Nodes {
			text, statusErr := node.Status(ctx, status)
			n, parseErr := strconv.Atoi(text)
			total, err = total+n, errors.Join(err, statusErr, parseErr)
		}
		return total
	}
	c.bruteForce, c.certification = sum("wsrep_local_bf_aborts"), sum("wsrep_local_cert_failures")
	return c, err
}

// disruptions returns all faults. Two nodes that are cut off are so also from each
// other, so that none is left that can commit. Two that are killed at once form the
// cluster again when both are back, because the three have agreed on its last
// members.
func (g galera) disruptions(s *site) []disruption {
	one, all := lab.OneWriter, lab.AllWriters
	writer, node, third := g.Nodes[0].Server, g.Nodes[1].Server, g.Nodes[2].Server
	haproxy := s.proxies[one]
	return []disruption{
		{fault.Kill("writer killed", restartTime, writer), one, false, true},
		{fault.Suspend("writer frozen", silentTime, writer), one, false, false},
		{fault.Disconnect("writer cut off", silentTime, s.hosts[0]), one, false, false},
		{fault.Disconnect("quorum lost: two nodes cut off", silentTime, s.hosts[1:]...), one, true, true},
		{fault.Kill("HAProxy killed", restartTime, haproxy.Server), one, false, false},
		{fault.Suspend("HAProxy frozen", silentTime, haproxy.Server), one, false, false},
		{fault.Disconnect("HAProxy cut off", silentTime, haproxy.host), one, false, false},
		{fault.Kill("a node killed", restartTime, node), all, false, false},
		{fault.Suspend("a node frozen", silentTime, node), all, false, true},
		{fault.Disconnect("a node cut off", silentTime, s.hosts[1]), all, false, false},
		{fault.Kill("quorum lost: two nodes killed", silentTime, node, third), all, true, false},
	}
}
