package cluster

import (
	"context"
	"time"

	"github.com/jmoiron/sqlx"

	"example.com/flashsale/internal/lab"
	"example.com/flashsale/loadtest/fault"
)

// groupConflicts returns those at certification, which every member counts.
func groupConflicts(ctx context.Context, members []*lab.MySQL) (conflicts, error) {
	c := conflicts{uncounted: true}
	const q = `
		SELECT COUNT_CONFLICTS_DETECTED FROM replication_group_member_stats WHERE MEMBER_ID = @@server_uuid`
	err := ask(members[0], "performance_schema", func(db *sqlx.DB) error {
		return db.GetContext(ctx, &c.certification, q)
	})
	return c, err
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
