package cluster

import (
	"context"
	"time"

	"example.com/flashsale/internal/faultproxy"
	"example.com/flashsale/internal/lab"
	"example.com/flashsale/loadtest/fault"
	"example.com/flashsale/loadtest/rig"
)

// promotions returns the faults of a primary whose replica is promoted. An asynchronous primary that
// dies alone loses what was on its way to the replica, which may be nothing. One that loses
// the replica first is the control: it must lose orders.
func (r *run) promotions() []*Disruption {
	return []*Disruption{
		r.promotion("semi-synchronous", lab.StartSemiSyncReplication, false, never),
		r.promotion("semi-synchronous", lab.StartSemiSyncReplication, true, never),
		r.promotion("asynchronous", lab.StartAsyncReplication, false, possible),
		r.promotion("asynchronous", lab.StartAsyncReplication, true, certain),
	}
}

// linkLostFor is how long the primary runs without its replica before it dies.
const linkLostFor = 100 * time.Millisecond

// promotion returns the row in which a primary is killed, maybe after the connection to its replica was lost. Only
// the replica is left, and promoted.
func (r *run) promotion(
	replication string, start func(*lab.Lab) (*lab.Replication, error), linkLost bool, may loss,
) *Disruption {
	d := &Disruption{Cluster: replication + " replication", Fault: "kill -9", Routing: lab.OneWriter, loss: may}
	if linkLost {
		d.Fault = "replica lost, " + d.Fault
	}
	d.on = func(ctx context.Context, play func(stage) error) error {
		servers, err := start(r.stack.Lab)
		if err != nil {
			return err
		}
		defer servers.Primary.Kill()
		defer servers.Replica.Kill()
		link, err := faultproxy.New(servers.Primary.Address)
		if err != nil {
			return err
		}
		defer link.Close()
		if err := servers.Follow(ctx, link.Addr()); err != nil {
			return err
		}
		proxy, err := lab.StartHAProxy(r.stack.Lab, nil, lab.OneWriter, servers.Primary, servers.Replica)
		if err != nil {
			return err
		}
		defer proxy.Kill()
		dies := fault.Fault{
			Strike: func(ctx context.Context) error {
				if linkLost {
					link.Partition()
					rig.Sleep(ctx, linkLostFor)
				}
				servers.Primary.Kill()
				return nil
			},
			Heal: func() error { return servers.Promote(ctx) },
		}
		return play(stage{first: servers.Primary, dsn: proxy.DSN, fault: dies, left: []*lab.MySQL{servers.Replica},
			repaired: func() error { return nil }})
	}
	return d
}
