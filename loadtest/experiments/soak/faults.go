package soak

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jmoiron/sqlx"

	"example.com/flashsale/loadtest/fault"
	"example.com/flashsale/loadtest/rig"
	"example.com/flashsale/loadtest/trial"
)

const (
	// faultTime is longer than every timeout of an instance, so that nothing may
	// wait for the fault to heal.
	faultTime = max(claimTimeout, lockTTL) + 2*time.Second
	// downTime is between a kill and the restart, so that requests meet the outage.
	downTime = 300 * time.Millisecond
)

// listFaults returns all faults. A short run has only the first of them, which
// therefore differ most: partitions from MySQL and Redis, a suspended instance, a locked coupon. A full
// run has each at least once.
func listFaults(m *market) []fault.Fault {
	a, b, database := m.A, m.B, m.stack.MySQL.Server
	kill := func(i *trial.Instance) fault.Fault { return fault.Kill(i.Client.Name+" killed", downTime, i.Server) }
	fromRedis := func(i *trial.Instance) fault.Fault {
		return fault.Partition(i.Client.Name+" partitioned from Redis", faultTime, i.Redis)
	}
	return []fault.Fault{
		m.beside(b, atCommit(a, "before", a.MySQL.PartitionBefore)),
		fault.Kill("Redis killed, back empty", downTime, m.stack.Redis.Server),
		m.beside(a, lockedCoupon(m, a)),
		m.beside(a, suspend(b)),
		kill(a),
		m.beside(a, fromRedis(b)),
		fault.Suspend("database suspended, as in a long flush", faultTime, database),
		fault.Kill("database killed", downTime, database),

		m.beside(a, atCommit(b, "after", b.MySQL.PartitionAfter)),
		drain(m, a),
		m.beside(b, suspend(a)),
		kill(b),
		readLock(m.Sale),
		m.beside(b, fromRedis(a)),
		drain(m, b),
		drainPartitioned(m, a),
		kill(b),
		drainPartitioned(m, b),
		kill(a),
	}
}

// suspension ends the name of the fault of a suspended instance, which need not reply meanwhile.
const suspension = " suspended"

func suspend(i *trial.Instance) fault.Fault {
	return fault.Suspend(i.Client.Name+suspension, faultTime, i.Server)
}

// commitStatement is the request of a COMMIT of its own, with its command byte.
// Batches that are committed in a single round trip do not contain it.
const commitStatement = "\x03COMMIT"

// atCommit partitions an instance from MySQL at a COMMIT: before the server gets
// it, which then keeps the locks of the transaction, or after, so that its reply is
// lost. If none comes, it begins without.
func atCommit(i *trial.Instance, when string, begin func(request string)) fault.Fault {
	f := fault.AtRequest(i.Client.Name+" partitioned from MySQL, "+when+" a COMMIT", faultTime, i.MySQL,
		func() { begin(commitStatement) }, i.MySQL.Partitioned)
	await := f.Strike
	f.Strike = func(ctx context.Context) error {
		err := await(ctx)
		i.MySQL.Partition()
		return err
	}
	return f
}

// drain stops an instance by SIGTERM, which may take drainTimeout, and a second to
// end.
func drain(m *market, i *trial.Instance) fault.Fault {
	f := fault.Kill(i.Client.Name+" drained", downTime, i.Server)
	f.Strike = func(context.Context) error {
		begin := time.Now()
		err := i.Stop()
		if took := time.Since(begin); took > drainTimeout+time.Second || err != nil {
			m.Violations.Add("the drain of %s took %.1f s, %v", i.Client.Name, took.Seconds(), err)
		}
		return nil
	}
	return f
}

// drainPartitioned drains an instance that MySQL does not reply to.
func drainPartitioned(m *market, i *trial.Instance) fault.Fault {
	partition, drained := atCommit(i, "before", i.MySQL.PartitionBefore), drain(m, i)
	return fault.Fault{
		Name: i.Client.Name + " drained while partitioned from MySQL", Lasts: drained.Lasts,
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
