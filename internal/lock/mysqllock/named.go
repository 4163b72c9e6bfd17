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
	"example.com/flashsale/internal/transaction"
)

// Named is a locker that uses GET_LOCK. A lease lasts as long as its
// connection: it never expires, whatever its ttl, and it has no fence. Each
// holder occupies a connection, so Named has a pool of its own.
//
// GET_LOCK is of one server. Named does not exclude clients of different nodes of a
// Galera cluster or a MySQL replication group from each other; Rows does.
//
// Keys are hashed together with the name of the database, because the names of
// GET_LOCK are server-wide and case-insensitive.
type Named struct{ db *sqlx.DB }

// OpenNamed opens a locker with at most conns connections. While all of them
// are in use, TryLock waits for one until its context ends.
func OpenNamed(dsn string, conns int) (*Named, error) {
	db, err := connect.MySQL(dsn, conns, connect.LongIdle) // a holder says nothing until its next renewal
	if err != nil {
		return nil, fmt.Errorf("mysqllock: %w", err)
	}
	return &Named{db}, nil
}

// Close closes the connections, and with them all leases end.
func (n *Named) Close() error { return n.db.Close() }

// TryLock implements lock.Locker.
func (n *Named) TryLock(ctx context.Context, key string, _ time.Duration) (lock.Lease, error) {
	conn, err := n.db.Conn(ctx)
	if err != nil {
		return nil, fmt.Errorf("mysqllock: acquire %s: %w", key, err)
	}
	return newNamedLease(conn, key, getLock(ctx, conn, key))
}

// getLock calls GET_LOCK without a wait.
func getLock(ctx context.Context, conn *sql.Conn, key string) error {
	const q = "SELECT GET_LOCK(SHA2(CONCAT(DATABASE(), '/', ?), 256), 0)"
	var got sql.NullBool
	err := conn.QueryRowContext(ctx, q, key).Scan(&got)
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
		return &namedLease{conn: conn, key: key}, nil
	case errors.Is(err, lock.ErrLocked):
		_ = conn.Close()
		return nil, err
	}
	transaction.Discard(conn)
	return nil, fmt.Errorf("mysqllock: acquire %s: %w", key, err)
}
