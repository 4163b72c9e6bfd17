package cluster

import (
	"context"
	"time"

	"example.com/flashsale/internal/connect"
	"example.com/flashsale/internal/lab"
	"example.com/flashsale/loadtest/fault"
)

// startGroup returns a function that starts a MySQL replication group in a mode.
func startGroup(mode *lab.GroupKind) startCluster {
	return func(l *lab.Lab, hosts []*lab.Host) (cluster, error) {
		g, err := lab.StartGroupOn(l, mode, hosts, "--max-connections=1000")
		if err != nil {
			return cluster{}, err
		}
		c := cluster{
			name: "Group Replication, " + mode.Name, members: g.Members, await: g.AwaitJoined, kill: g.Kill,
			conflicts: func(ctx context.Context) (conflicts, error) { return groupConflicts(ctx, g.Members[0]) },
			// the first member becomes the primary, as an operator may make it when it is back
			reset: func(ctx context.Context) error { return g.Members[0].MakePrimary(ctx) }, faults: primaryFaults,
		}
		if mode == lab.MultiPrimary {
			c.reset, c.faults = func(context.Context) error { return nil }, multiPrimaryFaults
		}
		return c, nil
	}
}

// groupConflicts returns those at certification, which every member counts.
func groupConflicts(ctx context.Context, member *lab.MySQL) (conflicts, error) {
	c := conflicts{uncounted: true}
	db, err := connect.MySQL(member.DSN("performance_schema"), 1)
	if err != nil {
		return c, err
	}
	defer db.Close()
	const q = `
		SELECT COUNT_CONFLICTS_DETECTED FROM replication_group_member_stats WHERE MEMBER_ID = @@server_uuid`
	err = db.GetContext(ctx, &c.certification, q)
	return c, err
}

// groupSilentTime is longer than a group waits for a silent member: five seconds, and
// until the next check.
const groupSilentTime = 10 * time.Second

func primaryFaults(s *site) []*Disruption {
	primary, secondary := s.members[0].Server, s.members[1].Server
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
	member := s.members[1].Server
	return []*Disruption{
		{fault: fault.Kill("a primary killed", restartTime, member), Routing: lab.AllWriters},
		{fault: fault.Suspend("a primary frozen", groupSilentTime, member), Routing: lab.AllWriters, quick: true},
		{fault: fault.Disconnect("a primary cut off", groupSilentTime, s.hosts[1]), Routing: lab.AllWriters},
	}
}
