package soak

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jmoiron/sqlx"

	"example.com/flashsale/internal/faultproxy"
	"example.com/flashsale/loadtest/fault"
	"example.com/flashsale/loadtest/rig"
)

const (
	// faultTime is longer than every timeout of an instance, so that nothing may
	// wait for the fault to heal.
	faultTime = max(claimTimeout, lockTTL) + 2*time.Second
	// downTime is between a kill and the restart, so that requests meet the outage.
	downTime = 300 * time.Millisecond
)

// An injection is a fault of the schedule.
type injection struct {
	fault.Fault
	other     *instance // which the fault does not strike; nil if it strikes both
	suspended *instance // nil if none is
}

// listFaults returns all faults. A short run has only the first of them, which
// therefore differ most.
func listFaults(s *rig.Stack, m *market, o *overloader, a, b *instance) []injection {
	on := func(i *instance, f fault.Fault) injection { // strikes i alone
		if i == a {
			return injection{Fault: f, other: b}
		}
		return injection{Fault: f, other: a}
	}
	both := func(f fault.Fault) injection { return injection{Fault: f} }
	suspend := func(i *instance) injection {
		f := on(i, fault.Suspend(i.client.name+" suspended", faultTime, i.Server))
		f.suspended = i
		return f
	}
	killInstance := func(i *instance) injection {
		return both(fault.Kill(i.client.name+" killed", downTime, i.Server))
	}
	fromRedis := func(i *instance) injection {
		return on(i, fault.Partition(i.client.name+" partitioned from Redis", faultTime, i.Redis))
	}
	beforeCommit := atCommit(a, "before", a.MySQL.PartitionBefore)
	afterCommit := atCommit(b, "after", b.MySQL.PartitionAfter)
	return []injection{
		on(a, beforeCommit),
		both(fault.Kill("Redis killed, back empty", downTime, s.Redis.Server)),
		both(lockedCoupon(m, a)),
		both(o.overload(b)),
		suspend(b),
		killInstance(a),
		fromRedis(b),
		both(firstStarts(s, m)),
		both(fault.Suspend("database suspended, as in a long flush", faultTime, s.MySQL.Server)),
		both(o.overload(a)),
		both(fault.Kill("database killed", downTime, s.MySQL.Server)),

		on(b, afterCommit),
		both(drain(m, a)),
		suspend(a),
		killInstance(b),
		both(readLock(m.sale)),
		both(o.overload(b)),
		fromRedis(a),
		both(drain(m, b)),
		both(drainPartitioned(m, a)),
		killInstance(b),
		both(drainPartitioned(m, b)),
		both(o.overload(a)),
		killInstance(a),
	}
}

// commitStatement is the request of a COMMIT of its own, with its command byte.
// Batches that are committed in a single round trip do not contain it.
const commitStatement = "\x03COMMIT"

// commitWait bounds the wait for a COMMIT.
const commitWait = 5 * time.Second

// atCommit partitions an instance from MySQL at a COMMIT: before the server gets
// it, which then keeps the locks of the transaction, or after, so that its reply is
// lost.
func atCommit(i *instance, when string, begin func(request string)) fault.Fault {
	f := fault.Partition(i.client.name+" partitioned from MySQL, "+when+" a COMMIT", faultTime, i.MySQL)
	f.Strike = func(ctx context.Context) error {
		begin(commitStatement)
		awaitPartition(ctx, i.MySQL)
		return nil
	}
	return f
}

// awaitPartition waits for the request that begins the partition of p. If there
// is none, the partition begins without.
func awaitPartition(ctx context.Context, p *faultproxy.Proxy) {
	for end := time.Now().Add(commitWait); !p.Partitioned() && time.Now().Before(end); {
		if !rig.Sleep(ctx, time.Millisecond) {
			break
		}
	}
	p.Partition()
}

// drain stops an instance by SIGTERM, which may take drainTimeout, and a second to
// end.
func drain(m *market, i *instance) fault.Fault {
	f := fault.Kill(i.client.name+" drained", downTime, i.Server)
	f.Strike = func(context.Context) error {
		begin := time.Now()
		err := i.Stop()
		if took := time.Since(begin); took > drainTimeout+time.Second || err != nil {
			m.Violations.Add("the drain of %s took %.1f s, %v", i.client.name, took.Seconds(), err)
		}
		return nil
	}
	return f
}

// drainPartitioned drains an instance that MySQL does not reply to.
func drainPartitioned(m *market, i *instance) fault.Fault {
	partition, drained := atCommit(i, "before", i.MySQL.PartitionBefore), drain(m, i)
	return fault.Fault{
		Name: i.client.name + " drained while partitioned from MySQL", Lasts: drained.Lasts,
		Strike: func(ctx context.Context) error { return errors.Join(partition.Strike(ctx), drained.Strike(ctx)) },
		Heal:   func() error { return errors.Join(partition.Heal(), drained.Heal()) },
	}
}

// readLock holds the global read lock of the database, as a backup does: reads go
// on, and every commit waits.
func readLock(sale *rig.Sale) fault.Fault {
	var conn *sqlx.Conn
	return fault.Fault{
		Name: "database under a global read lock", Lasts: faultTime,
		Strike: func(ctx context.Context) (err error) {
			if conn, err = sale.DB.Connx(ctx); err == nil {
				_, err = conn.ExecContext(ctx, "FLUSH TABLES WITH READ LOCK")
			}
			if err != nil {
				return fmt.Errorf("read lock: %w", err)
			}
			return nil
		},
		Heal: func() error {
			_, err := conn.ExecContext(context.Background(), "UNLOCK TABLES")
			return errors.Join(err, conn.Close())
		},
	}
}
