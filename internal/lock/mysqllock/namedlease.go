package mysqllock

import (
	"context"
	"database/sql"
	"fmt"
	"sync"
	"time"

	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/transaction"
)

// A namedLease is one connection that has locked one name.
type namedLease struct {
	key string

	mu    sync.Mutex // serializes the statements on conn
	conn  *sql.Conn
	ended bool // released or lost
}

// Fence implements lock.Lease. It returns 0: the lease has no fence.
func (l *namedLease) Fence() uint64 { return 0 }

// Extend implements lock.Lease. The lease has no end that could be moved, so
// Extend only checks that the connection still has the lock. A check that fails
// is a loss: the driver closes the connection, and then the server frees the
// lock.
func (l *namedLease) Extend(ctx context.Context, _ time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	const q = "SELECT IS_USED_LOCK(SHA2(CONCAT(DATABASE(), '/', ?), 256)) <=> CONNECTION_ID()"
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return lock.ErrLost
	}
	var held bool
	if err := l.conn.QueryRowContext(ctx, q, l.key).Scan(&held); err == nil && held {
		return nil
	}
	transaction.Discard(l.conn)
	l.ended = true
	return lock.ErrLost
}

// Release implements lock.Lease. If the outcome is unknown, Release closes the
// connection, and the server frees the lock when it notices that.
func (l *namedLease) Release(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	const q = "SELECT RELEASE_LOCK(SHA2(CONCAT(DATABASE(), '/', ?), 256)) <=> 1"
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return lock.ErrLost
	}
	l.ended = true
	var released bool
	if err := l.conn.QueryRowContext(ctx, q, l.key).Scan(&released); err != nil {
		transaction.Discard(l.conn)
		return fmt.Errorf("mysqllock: release %s: %w", l.key, err)
	}
	_ = l.conn.Close() // back to the pool
	if !released {
		return lock.ErrLost
	}
	return nil
}
