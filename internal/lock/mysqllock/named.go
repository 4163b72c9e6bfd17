package mysqllock

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/jmoiron/sqlx"

	"example.com/flashsale/internal/connect"
	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/lock/driver"
)

// Named is a locker that uses GET_LOCK. A lease lasts as long as its
// connection: it never expires, whatever its ttl, and it has no fence. Each
// holder and each waiter occupies a connection, so Named has a pool of its own.
//
// GET_LOCK is of one server. Named does not exclude clients of different nodes of a
// Galera cluster or a MySQL replication group from each other; Rows does.
//
// Keys are hashed together with the name of the database, because the names of
// GET_LOCK are server-wide and case-insensitive.
type Named struct {
	db      *sqlx.DB
	control *sqlx.DB // for KILL QUERY; never exhausted by holders and waiters
}

// OpenNamed opens a locker with at most conns connections. While all of them
// are in use, Lock and also TryLock wait for one until their context ends.
func OpenNamed(dsn string, conns int) (*Named, error) {
	db, err := connect.MySQL(dsn, conns)
	if err != nil {
		return nil, fmt.Errorf("mysqllock: %w", err)
	}
	control, err := connect.MySQL(dsn, 2)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("mysqllock: %w", err), db.Close())
	}
	return &Named{db, control}, nil
}

// Close closes the connections, and with them all leases end.
func (n *Named) Close() error { return errors.Join(n.db.Close(), n.control.Close()) }

// TryLock implements lock.Locker.
func (n *Named) TryLock(ctx context.Context, key string, _ time.Duration) (lock.Lease, error) {
	conn, err := n.conn(ctx, key)
	if err != nil {
		return nil, err
	}
	return newNamedLease(conn, key, getLock(ctx, conn, key, 0))
}

// Lock implements lock.BlockingLocker. When ctx ends, it interrupts GET_LOCK
// through another connection, because the server reads nothing from the waiting
// one.
func (n *Named) Lock(ctx context.Context, key string, _ time.Duration) (lock.Lease, error) {
	conn, err := n.conn(ctx, key)
	if err != nil {
		return nil, err
	}
	var id uint64
	if err := conn.QueryRowContext(ctx, "SELECT CONNECTION_ID()").Scan(&id); err != nil {
		return newNamedLease(conn, key, errors.Join(err, context.Cause(ctx)))
	}
	uncancelled, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	done, interrupted := make(chan struct{}), make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		n.killQuery(ctx, id, done)
		cancel()
		close(interrupted)
	})
	const forever = 365 * 24 * time.Hour
	err = getLock(uncancelled, conn, key, forever)
	if stop() {
		return newNamedLease(conn, key, err)
	}
	close(done)
	<-interrupted
	if err == nil { // GET_LOCK succeeded just before the interrupt
		held, _ := newNamedLease(conn, key, nil)
		_ = held.Release(context.WithoutCancel(ctx))
	} else {
		discard(conn)
	}
	return nil, errors.Join(lock.ErrLocked, context.Cause(ctx))
}

// killQuery ends the query of connection id, but not the connection: its client
// would be notified of that before the server has left the lock's queue. KILL
// QUERY has no effect before the query has begun, so killQuery repeats it until
// done is closed. The end of ctx does not stop it.
func (n *Named) killQuery(ctx context.Context, id uint64, done <-chan struct{}) {
	ctx, cancel := driver.Cleanup(ctx, cleanup)
	defer cancel()
	for {
		_, _ = n.control.ExecContext(ctx, "KILL QUERY ?", id)
		select {
		case <-done:
			return
		case <-ctx.Done():
			return
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func (n *Named) conn(ctx context.Context, key string) (*sql.Conn, error) {
	conn, err := n.db.Conn(ctx)
	if err != nil {
		return nil, fmt.Errorf("mysqllock: acquire %s: %w", key, err)
	}
	return conn, nil
}

// getLock calls GET_LOCK, which waits for at most wait, in whole seconds.
func getLock(ctx context.Context, conn *sql.Conn, key string, wait time.Duration) error {
	const q = "SELECT GET_LOCK(SHA2(CONCAT(DATABASE(), '/', ?), 256), ?)"
	var got sql.NullBool
	err := conn.QueryRowContext(ctx, q, key, int(wait.Seconds())).Scan(&got)
	switch {
	case err != nil:
		return err
	case !got.Valid:
		return errors.New("GET_LOCK returned NULL")
	case !got.Bool:
		return lock.ErrLocked
	}
	return nil
}

// newNamedLease returns a lease on conn if err, the outcome of GET_LOCK, is nil.
// If the lock is held by another, conn goes back to the pool. Otherwise the
// outcome is unknown, and closing conn frees the lock in case conn has it.
func newNamedLease(conn *sql.Conn, key string, err error) (lock.Lease, error) {
	switch {
	case err == nil:
		return &namedLease{conn: conn, key: key, ended: make(chan struct{}), lost: make(chan struct{})}, nil
	case err == lock.ErrLocked: //nolint:errorlint // a cancelled wait wraps ErrLocked, and leaves conn in doubt
		_ = conn.Close()
		return nil, err
	}
	discard(conn)
	if errors.Is(err, lock.ErrLocked) {
		return nil, err
	}
	return nil, fmt.Errorf("mysqllock: acquire %s: %w", key, err)
}
