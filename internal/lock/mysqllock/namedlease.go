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

// pulse is how often the connection of a watched lease is tried, and how long
// it may take to answer.
const pulse = 2 * time.Second

// A named is one connection that has one name locked.
type named struct {
	key string

	mu   sync.Mutex // one question at a time
	conn *sql.Conn
	over chan struct{} // closed when released or lost

	watching sync.Once
	lost     chan struct{}
}

// Fence implements lock.Lease: there is none.
func (l *named) Fence() uint64 { return 0 }

// Extend implements lock.Lease. There is no end to move, so it only makes sure
// of the lock. A question without an answer is a loss: the driver gives up the
// connection with it, and the server the lock with the connection.
func (l *named) Extend(ctx context.Context, ttl time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	const q = "SELECT IS_USED_LOCK(SHA2(CONCAT(DATABASE(), '/', ?), 256)) <=> CONNECTION_ID()"
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended() {
		return lock.ErrLost
	}
	var held bool
	if err := l.conn.QueryRowContext(ctx, q, l.key).Scan(&held); err == nil && held {
		return nil
	}
	discard(l.conn)
	close(l.lost)
	close(l.over)
	return lock.ErrLost
}

// Release implements lock.Lease. If its outcome is unknown, the connection
// ends, and so does the lock when the server notices.
func (l *named) Release(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	const q = "SELECT RELEASE_LOCK(SHA2(CONCAT(DATABASE(), '/', ?), 256)) <=> 1"
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended() {
		return lock.ErrLost
	}
	close(l.over)
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

func (l *named) ended() bool {
	select {
	case <-l.over:
		return true
	default:
		return false
	}
}

// Lost implements lock.WatchedLease: it tells of a connection's death within two
// pulses. The watch begins with the first call.
func (l *named) Lost() <-chan struct{} {
	l.watching.Do(func() { go l.watch() })
	return l.lost
}

func (l *named) watch() {
	for {
		select {
		case <-l.over:
			return
		case <-time.After(pulse):
		}
		ctx, cancel := context.WithTimeout(context.Background(), pulse)
		_ = l.Extend(ctx, pulse)
		cancel()
	}
}

// discard closes the connection instead of giving it back to the pool, where
// the next one would find our lock on it.
func discard(conn *sql.Conn) {
	_ = conn.Raw(func(any) error { return driver.ErrBadConn })
	_ = conn.Close()
}
