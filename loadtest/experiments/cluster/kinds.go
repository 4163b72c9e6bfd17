package cluster

import (
	"time"

	"example.com/flashsale/internal/lab"
	"example.com/flashsale/loadtest/fault"
)

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
		{fault: fault.Disconnect("HAProxy cut off", silentTime, haproxy.Host), Routing: one},
		{fault: fault.Kill("a node killed", restartTime, node), Routing: all},
		{fault: fault.Suspend("a node frozen", silentTime, node), Routing: all, quick: true},
		{fault: fault.Disconnect("a node cut off", silentTime, s.hosts[1]), Routing: all},
		{fault: fault.Kill("quorum lost: two nodes killed", silentTime, node, third), Routing: all, quorumLost: true},
	}
}

// groupSilentTime is longer than a group waits for a silent member: five seconds, and
// until the next check.
const groupSilentTime = 10 * time.Second

func primaryFaults(s *site) []*Disruption {
	primary, secondary := s.Members[0].Server, s.Members[1].Server
	return []*Disruption{
		{fault: fault.Kill("the primary killed", restartTime, primary), Routing: lab.OneWriter, quick: true},
		{fault: fault.Suspend("the primary frozen", groupSilentTime, primary), Routing: lab.OneWriter},
		{fault: fault.Disconnect("the primary cut off", groupSilentTime, s.hosts[0]), Routing: lab.OneWriter},
		{fault: fault.Suspend("a secondary frozen", groupSilentTime, secondary), Routing: lab.OneWriter},
		{fault: fault.Disconnect("quorum lost: two members cut off", groupSilentTime, s.hosts[1:]...),
			Routing: lab.OneWriter, quorumLost: true, quick: true},
	}
}

func multiPrimaryFaults(s *site) []*Disruption {
	member := s.Members[1].Server
	return []*Disruption{
		{fault: fault.Kill("a primary killed", restartTime, member), Routing: lab.AllWriters},
		{fault: fault.Suspend("a primary frozen", groupSilentTime, member), Routing: lab.AllWriters, quick: true},
		{fault: fault.Disconnect("a primary cut off", groupSilentTime, s.hosts[1]), Routing: lab.AllWriters},
	}
}
