package cluster

import (
	"context"
	"errors"
	"slices"
	"time"

	"example.com/flashsale/internal/lab"
	"example.com/flashsale/loadtest/fault"
	"example.com/flashsale/loadtest/rig"
)

// frozenTime is longer than CLAIM_TIMEOUT, and than a tablet lets a transaction last.
const frozenTime = 10 * time.Second

func (r *run) plainFaults(_ context.Context, v *lab.Vitess) []*Sharding {
	second := v.Shards[1].Tablets[0]
	rows := []*Sharding{{Name: "sold out, expired"}}
	for _, f := range []fault.Fault{
		fault.Kill("mysqld killed", restartTime, second.MySQL.Server),
		fault.Kill("vttablet killed", restartTime, second.Server),
		fault.Kill("vtgate killed", restartTime, v.Gate),
		fault.Suspend("mysqld frozen", frozenTime, second.MySQL.Server),
		fault.Suspend("vttablet frozen", frozenTime, second.Server),
		{Name: "two shards become four", Strike: v.Reshard},
	} {
		rows = append(rows, &Sharding{Name: f.Name, fault: &f})
	}
	return append(rows, &Sharding{Name: "control: order deleted", spoil: true})
}

// reparents replace the primary of a shard, which has two replicas.
func (r *run) reparents(ctx context.Context, v *lab.Vitess) []*Sharding {
	var primary *lab.Tablet // before
	find := func(s *lab.Shard) (err error) {
		primary, err = v.Primary(ctx, s)
		return err
	}
	planned := &fault.Fault{Strike: func(ctx context.Context) error {
		first := v.Shards[0]
		if err := find(first); err != nil {
			return err
		}
		i := slices.IndexFunc(first.Tablets, func(t *lab.Tablet) bool { return t != primary })
		return v.Reparent(ctx, first, first.Tablets[i])
	}}
	second := v.Shards[1]
	failover := &fault.Fault{
		Strike: func(context.Context) error {
			err := find(second)
			if err == nil {
				primary.MySQL.Kill()
			}
			return err
		},
		Heal: func() error {
			dead := primary
			for begin := time.Now(); primary == dead; rig.Sleep(ctx, retryPause) {
				if err := find(second); err != nil {
					return err
				}
				if time.Since(begin) > time.Minute {
					return errors.New("vtorc has promoted no replica within a minute")
				}
			}
			return dead.MySQL.Restart()
		},
	}
	return []*Sharding{
		{Name: "planned reparent", fault: planned}, {Name: "mysqld of a primary killed, replica promoted", fault: failover},
	}
}
