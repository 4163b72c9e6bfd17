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
)

// Named locks with GET_LOCK. A lease lives as long as its connection: it has
// no end of its own, whatever its ttl, and no fence. Holders and waiters each
// keep a connection for themselves, which is why Named has a pool of its own.
//
// Names are hashed together with the database's: GET_LOCK's are the whole
// server's, and do not tell a from A.
type Named struct {
	db      *sqlx.DB
	control *sqlx.DB // never waits for a holder
}

// OpenNamed opens a locker on at most conns connections. Whoever finds all of
// them taken waits for one as long as its context allows, TryLock too.
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

// Close closes the connections, which ends the leases.
func (n *Named) Close() error { return errors.Join(n.db.Close(), n.control.Close()) }

// TryLock implements lock.Locker.
func (n *Named) TryLock(ctx context.Context, key string, ttl time.Duration) (lock.Lease, error) {
	conn, err := n.conn(ctx, key, ttl)
	if err != nil {
		return nil, err
	}
	return finish(conn, key, getLock(ctx, conn, key, 0))
}

// Lock implements lock.BlockingLocker. When ctx ends, another connection interrupts the
// wait: the server would not look at this one before the wait is over.
func (n *Named) Lock(ctx context.Context, key string, ttl time.Duration) (lock.Lease, error) {
	conn, err := n.conn(ctx, key, ttl)
	if err != nil {
		return nil, err
	}
	var id uint64
	if err := conn.QueryRowContext(ctx, "SELECT CONNECTION_ID()").Scan(&id); err != nil {
		return finish(conn, key, errors.Join(err, context.Cause(ctx)))
	}
	waiting, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	done, interrupted := make(chan struct{}), make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		n.interrupt(id, done)
		cancel()
		close(interrupted)
	})
	const forever = 365 * 24 * time.Hour
	err = getLock(waiting, conn, key, forever)
	if stop() {
		return finish(conn, key, err)
	}
	close(done)
	<-interrupted
	if err == nil { // it came at the same moment
		held, _ := finish(conn, key, nil)
		_ = held.Release(context.WithoutCancel(ctx))
	} else {
		discard(conn)
	}
	return nil, errors.Join(lock.ErrLocked, context.Cause(ctx))
}

// interrupt ends the query of a connection. It must not end the connection:
// its client would hear of that before the server has left the queue. One that
// comes before the query is to no effect, and is repeated until done.
func (n *Named) interrupt(id uint64, done <-chan struct{}) {
	ctx, cancel := context.WithTimeout(context.Background(), cleanup)
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

func (n *Named) conn(ctx context.Context, key string, ttl time.Duration) (*sql.Conn, error) {
	conn, err := n.db.Conn(ctx)
	if err != nil {
		return nil, fmt.Errorf("mysqllock: take %s: %w", key, err)
	}
	return conn, nil
}

// getLock waits in the server for at most wait, in seconds.
func getLock(ctx context.Context, conn *sql.Conn, key string, wait time.Duration) error {
	const q = "SELECT GET_LOCK(SHA2(CONCAT(DATABASE(), '/', ?), 256), ?)"
	var got sql.NullBool
	err := conn.QueryRowContext(ctx, q, key, int(wait.Seconds())).Scan(&got)
	switch {
	case err != nil:
		return err
	case !got.Valid:
		return errors.New("GET_LOCK gave NULL")
	case !got.Bool:
		return lock.ErrLocked
	}
	return nil
}

// finish makes a lease of the connection, or gives it up, and with it whatever
// it may have got.
func finish(conn *sql.Conn, key string, err error) (lock.Lease, error) {
	switch {
	case err == nil:
		return &named{conn: conn, key: key, over: make(chan struct{}), lost: make(chan struct{})}, nil
	case err == lock.ErrLocked: // a plain no: the connection is as good as new
		_ = conn.Close()
		return nil, err
	}
	discard(conn)
	if errors.Is(err, lock.ErrLocked) {
		return nil, err
	}
	return nil, fmt.Errorf("mysqllock: take %s: %w", key, err)
}
