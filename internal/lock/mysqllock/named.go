package mysqllock

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/go-sql-driver/mysql"
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
	_, err = tryGetLock(ctx, conn, key)
	return newNamedLease(conn, key, err)
}

// Lock implements lock.BlockingLocker. When ctx ends, it interrupts GET_LOCK
// through another connection, because the server reads nothing from the waiting
// one. It returns ErrLocked only if the server has refused the lock, and has
// replied to the interrupt.
func (n *Named) Lock(ctx context.Context, key string, _ time.Duration) (lock.Lease, error) {
	conn, err := n.conn(ctx, key)
	if err != nil {
		return nil, err
	}
	id, err := tryGetLock(ctx, conn, key)
	switch {
	case err == nil:
		return newNamedLease(conn, key, nil)
	case !errors.Is(err, lock.ErrLocked):
		return newNamedLease(conn, key, errors.Join(err, context.Cause(ctx)))
	}
	lock.Queued(ctx)
	uncancelled, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	done, interrupted := make(chan struct{}), make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		n.killQuery(ctx, id, done)
		cancel()
		close(interrupted)
	})
	err = waitGetLock(uncancelled, conn, key)
	if stop() {
		return newNamedLease(conn, key, err)
	}
	close(done)
	<-interrupted
	return nil, endWait(ctx, conn, key, err)
}

// endWait returns the error of a wait that ctx has ended, and err, the outcome of
// its GET_LOCK. The lock is not kept, even if GET_LOCK succeeded just before the
// interrupt.
func endWait(ctx context.Context, conn *sql.Conn, key string, err error) error {
	if err == nil {
		held, _ := newNamedLease(conn, key, nil)
		bounded, cancel := driver.Cleanup(ctx, cleanup)
		defer cancel()
		_ = held.Release(bounded) // which closes the connection if there is no reply
		return errors.Join(lock.ErrLocked, context.Cause(ctx))
	}
	discard(conn)
	if _, replied := errors.AsType[*mysql.MySQLError](err); replied || errors.Is(err, errNull) {
		return errors.Join(lock.ErrLocked, context.Cause(ctx))
	}
	return fmt.Errorf("mysqllock: acquire %s: %w", key, errors.Join(err, context.Cause(ctx)))
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

// errNull is what an interrupted GET_LOCK returns on MySQL. On MariaDB it fails.
var errNull = errors.New("GET_LOCK returned NULL")

// tryGetLock calls GET_LOCK without a wait. It also returns the id of conn, unless
// the outcome is unknown.
func tryGetLock(ctx context.Context, conn *sql.Conn, key string) (id uint64, err error) {
	const q = "SELECT CONNECTION_ID(), GET_LOCK(SHA2(CONCAT(DATABASE(), '/', ?), 256), 0)"
	var got sql.NullBool
	err = conn.QueryRowContext(ctx, q, key).Scan(&id, &got)
	return id, outcome(got, err)
}

// waitGetLock calls GET_LOCK, which waits for a year.
func waitGetLock(ctx context.Context, conn *sql.Conn, key string) error {
	const q = "SELECT GET_LOCK(SHA2(CONCAT(DATABASE(), '/', ?), 256), 365 * 24 * 3600)"
	var got sql.NullBool
	err := conn.QueryRowContext(ctx, q, key).Scan(&got)
	return outcome(got, err)
}

// outcome turns the result of GET_LOCK into an error.
func outcome(got sql.NullBool, err error) error {
	switch {
	case err != nil:
		return err
	case !got.Valid:
		return errNull
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
	case errors.Is(err, lock.ErrLocked):
		_ = conn.Close()
		return nil, err
	}
	discard(conn)
	return nil, fmt.Errorf("mysqllock: acquire %s: %w", key, err)
}
