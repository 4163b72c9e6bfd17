package mysqllock

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"sync"
	"time"

	"example.com/flashsale/internal/lock"
)

// checkInterval is how often a watched lease checks its connection, and how
// long each check may take.
const checkInterval = 2 * time.Second

// A namedLease is one connection that has locked one name.
type namedLease struct {
	key string

	mu    sync.Mutex // serializes the statements on conn
	conn  *sql.Conn
	ended chan struct{} // closed when released or lost

	watchOnce sync.Once
	lost      chan struct{}
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
	if l.hasEnded() {
		return lock.ErrLost
	}
	var held bool
	if err := l.conn.QueryRowContext(ctx, q, l.key).Scan(&held); err == nil && held {
		return nil
	}
	discard(l.conn)
	close(l.lost)
	close(l.ended)
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
	if l.hasEnded() {
		return lock.ErrLost
	}
	close(l.ended)
	var released bool
	if err := l.conn.QueryRowContext(ctx, q, l.key).Scan(&released); err != nil {
		discard(l.conn)
		return fmt.Errorf("mysqllock: release %s: %w", l.key, err)
	}
	_ = l.conn.Close() // back to the pool
	if !released {
		return lock.ErrLost
	}
	return nil
}

func (l *namedLease) hasEnded() bool {
	select {
	case <-l.ended:
		return true
	default:
		return false
	}
}

// Lost implements lock.WatchedLease. The channel is closed at most two check
// intervals after the connection has broken. The first call starts the checks.
func (l *namedLease) Lost() <-chan struct{} {
	l.watchOnce.Do(func() { go l.watch() })
	return l.lost
}

func (l *namedLease) watch() {
	for {
		select {
		case <-l.ended:
			return
		case <-time.After(checkInterval):
		}
		ctx, cancel := context.WithTimeout(context.Background(), checkInterval)
		_ = l.Extend(ctx, checkInterval)
		cancel()
	}
}

// discard closes conn instead of returning it to the pool, because conn may
// still have the lock.
func discard(conn *sql.Conn) {
	_ = conn.Raw(func(any) error { return driver.ErrBadConn })
	_ = conn.Close()
}
