package cluster

import (
	"context"
	"time"

	"example.com/flashsale/internal/connect"
	"example.com/flashsale/internal/lab"
	"example.com/flashsale/loadtest/fault"
)

// A group is a MySQL replication group.
type group struct {
	*lab.ReplicationGroup
	mode lab.GroupMode
}

// startGroup returns a function that starts a group in a mode.
func startGroup(mode lab.GroupMode) func(*lab.Lab, []*lab.Host) (cluster, error) {
	return func(l *lab.Lab, hosts []*lab.Host) (cluster, error) {
		g, err := lab.StartReplicationGroupOn(l, mode, hosts, "--max-connections=1000")
		return group{g, mode}, err
	}
}

func (g group) name() string          { return "Group Replication, " + string(g.mode) }
func (g group) members() []*lab.MySQL { return g.Members }
func (g group) await() error          { return g.AwaitOnline() }

// reset makes the first member the primary, as an operator may when it is back.
func (g group) reset(ctx context.Context) error {
	if g.mode == lab.MultiPrimary {
		return nil
	}
	return g.SetPrimary(ctx, g.Members[0])
}

// conflicts returns those at certification, which every member counts.
func (g group) conflicts(ctx context.Context) (conflicts, error) {
	c := conflicts{uncounted: true}
	db, err := connect.MySQL(g.Members[0].DSN("performance_schema"), 1)
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

// disruptions returns all faults.
func (g group) disruptions(s *site) []disruption {
	one, all := lab.OneWriter, lab.AllWriters
	primary, member := g.Members[0].Server, g.Members[1].Server
	if g.mode == lab.MultiPrimary {
		return []disruption{
			{fault.Kill("a primary killed", restartTime, member), all, false, false},
			{fault.Suspend("a primary frozen", groupSilentTime, member), all, false, true},
			{fault.Disconnect("a primary cut off", groupSilentTime, s.hosts[1]), all, false, false},
		}
	}
	return []disruption{
		{fault.Kill("the primary killed", restartTime, primary), one, false, true},
		{fault.Suspend("the primary frozen", groupSilentTime, primary), one, false, false},
		{fault.Disconnect("the primary cut off", groupSilentTime, s.hosts[0]), one, false, false},
		{fault.Suspend("a secondary frozen", groupSilentTime, member), one, false, false},
		{fault.Disconnect("quorum lost: two members cut off", groupSilentTime, s.hosts[1:]...), one, true, true},
	}
}
