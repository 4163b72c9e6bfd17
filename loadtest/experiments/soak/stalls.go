package soak

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jmoiron/sqlx"
)

// suspend stops an instance by SIGSTOP for longer than all of its timeouts.
// Whatever it holds, the other instance sells meanwhile.
func (r *run) suspend(i, other *instance) fault {
	var begin time.Time
	return fault{
		what: "instance " + i.name + " suspended", lasts: faultTime, other: other,
		strike: func(context.Context) error {
			begin = time.Now()
			i.Pause()
			return nil
		},
		heal: func() error {
			i.Resume()
			r.waits.addPause(pause{span{begin, time.Now()}, i.name})
			return nil
		},
	}
}

// longFlush suspends the database, which then replies to nothing, as when its
// disk hangs in a flush.
func (r *run) longFlush() fault {
	return fault{
		what: "database suspended, as in a long flush", lasts: faultTime,
		strike: func(context.Context) error { r.stack.MySQL.Pause(); return nil },
		heal:   func() error { r.stack.MySQL.Resume(); return nil },
	}
}

// readLock holds the global read lock of the database, as a backup does: reads go
// on, and every commit waits.
func (r *run) readLock() fault {
	var conn *sqlx.Conn
	return fault{
		what: "database under a global read lock", lasts: faultTime,
		strike: func(ctx context.Context) (err error) {
			if conn, err = r.sale.DB.Connx(ctx); err != nil {
				return fmt.Errorf("read lock: %w", err)
			}
			if _, err = conn.ExecContext(ctx, "FLUSH TABLES WITH READ LOCK"); err != nil {
				return fmt.Errorf("read lock: %w", err)
			}
			return nil
		},
		heal: func() error {
			_, err := conn.ExecContext(context.Background(), "UNLOCK TABLES")
			return errors.Join(err, conn.Close())
		},
	}
}
