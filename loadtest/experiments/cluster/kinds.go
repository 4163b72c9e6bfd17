package cluster

import (
	"context"
	"errors"
	"strconv"
	"time"

	"example.com/flashsale/internal/lab"
	"example.com/flashsale/loadtest/fault"
)

func galeraConflicts(ctx context.Context, nodes []*lab.MySQL) (c conflicts, err error) {
	sum := func(status string) (total int) {
		for _, node := range nodes {
			text, statusErr := node.Status(ctx, status)
			n, parseErr := strconv.Atoi(text)
			total, err = total+n, errors.Join(err, statusErr, parseErr)
		}
		return total
	}
	c.bruteForce, c.certification = sum("wsrep_local_bf_aborts"), sum("wsrep_local_cert_failures")
	return c, err
}

const (
	// restartTime is what a supervisor takes to start a killed process again.
	restartTime = time.Second
	// silentTime is longer than Galera's nodes wait for a silent one (6 s at
	// most), and than CLAIM_TIMEOUT.
	silentTime = 8 * time.Second
)

// galeraFaults returns all faults. Two nodes that are cut off are so also from each
// other, so that none is left that can commit. Two that are killed at once form the
// cluster again when both are back, because the three have agreed on its last
// members.
func galeraFaults(s *site) []*Disruption {
	one, all := lab.OneWriter, lab.AllWriters
	writer, node, third := s.Members[0].Server, s.Members[1].Server, s.Members[2].Server
	haproxy := s.proxies[one]
	return []*Disruption{
		{fault: fault.Kill("writer killed", restartTime, writer), Routing: one, quick: true},
		{fault: fault.Suspend("writer frozen", silentTime, writer), Routing: one},
		{fault: fault.Disconnect("writer cut off", silentTime, s.hosts[0]), Routing: one},
		{fault: fault.Disconnect("quorum lost: two nodes cut off", silentTime, s.hosts[1:]...), Routing: one,
			quorumLost: true, quick: true},
		{fault: fault.Kill("HAProxy killed", restartTime, haproxy.Server), Routing: one},
		{fault: fault.Suspend("HAProxy frozen", silentTime, haproxy.Server), Routing: one},
		{fault: fault.Disconnect("HAProxy cut off", silentTime, haproxy.host), Routing: one},
		{fault: fault.Kill("a node killed", restartTime, node), Routing: all},
		{fault: fault.Suspend("a node frozen", silentTime, node), Routing: all, quick: true},
		{fault: fault.Disconnect("a node cut off", silentTime, s.hosts[1]), Routing: all},
		{fault: fault.Kill("quorum lost: two nodes killed", silentTime, node, third), Routing: all, quorumLost: true},
	}
}
