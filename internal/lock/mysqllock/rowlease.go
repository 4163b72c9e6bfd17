package mysqllock

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jmoiron/sqlx"

	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/lock/driver"
)

// A rowLease is one owner of one row.
type rowLease struct {
	db    *sqlx.DB
	key   string
	owner string
	fence uint64
}

// Fence implements lock.Lease.
func (l *rowLease) Fence() uint64 { return l.fence }

// acquire makes the lease the owner of its row and sets its fence, or sets the
// fence to zero and changes nothing if the row has another owner.
//
// Columns are assigned from left to right, and each expression sees the new
// values of the columns before it: fence depends on the old owner and expiry,
// owner on the old expiry, expires_at on the new owner. LAST_INSERT_ID(x)
// returns the fence with the result, so that no second statement is needed.
// Repeating acquire after a lost reply yields the same fence.
func (l *rowLease) acquire(ctx context.Context, ttl time.Duration) error {
	const q = `
		INSERT INTO locks (name, owner, fence, expires_at)
		VALUES (?, ?, LAST_INSERT_ID(TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))),
		        UTC_TIMESTAMP(6) + INTERVAL ? MICROSECOND)
		ON DUPLICATE KEY UPDATE
			fence = IF(owner = ?, LAST_INSERT_ID(fence),
				IF(owner = '' OR expires_at <= UTC_TIMESTAMP(6),
					LAST_INSERT_ID(GREATEST(fence + 1, TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)))),
					fence + LAST_INSERT_ID(0))),
			owner = IF(owner = '' OR expires_at <= UTC_TIMESTAMP(6), ?, owner),
			expires_at = IF(owner = ?, UTC_TIMESTAMP(6) + INTERVAL ? MICROSECOND, expires_at)`
	ctx, cancel := context.WithTimeout(ctx, acquireTimeout)
	defer cancel()
	us := ttl.Microseconds()
	result, err := l.execute(ctx, q, l.key, l.owner, us, l.owner, l.owner, l.owner, us)
	if err != nil {
		return err
	}
	fence, err := result.LastInsertId()
	l.fence = uint64(fence)
	return err
}

// result turns the outcome of acquire into that of TryLock.
func (l *rowLease) result(ctx context.Context, err error) (lock.Lease, error) {
	switch {
	case err == nil && l.fence > 0:
		return l, nil
	case err == nil:
		return nil, lock.ErrLocked
	}
	l.cleanUp(ctx)
	return nil, fmt.Errorf("mysqllock: acquire %s: %w", l.key, err)
}

// releaseLate releases the lease if acquire succeeds after its caller has
// returned.
func (l *rowLease) releaseLate(ctx context.Context, outcome <-chan error) {
	if _, err := l.result(ctx, <-outcome); err == nil {
		l.cleanUp(ctx)
	}
}

// Extend implements lock.Lease.
func (l *rowLease) Extend(ctx context.Context, ttl time.Duration) error {
	const q = `
		UPDATE locks SET expires_at = UTC_TIMESTAMP(6) + INTERVAL ? MICROSECOND
		WHERE name = ? AND owner = ? AND expires_at > UTC_TIMESTAMP(6)`
	if err := l.update(ctx, q, ttl.Microseconds(), l.key, l.owner); err != nil {
		return fmt.Errorf("mysqllock: extend %s: %w", l.key, err)
	}
	return nil
}

// Release implements lock.Lease.
func (l *rowLease) Release(ctx context.Context) error {
	const q = `
		UPDATE locks SET owner = ''
		WHERE name = ? AND owner = ? AND expires_at > UTC_TIMESTAMP(6)`
	if err := l.update(ctx, q, l.key, l.owner); err != nil {
		return fmt.Errorf("mysqllock: release %s: %w", l.key, err)
	}
	if mathrand.N(100) == 0 {
		_ = sweep(ctx, l.db) // a later release sweeps again
	}
	return nil
}

// update executes q, and returns ErrLost if q matched no row.
func (l *rowLease) update(ctx context.Context, q string, args ...any) error {
	result, err := l.execute(ctx, q, args...)
	if err != nil {
		return err
	}
	n, err := result.RowsAffected()
	if err == nil && n == 0 {
		err = lock.ErrLost
	}
	return err
}

// execute executes q, and again while the server says that it has changed nothing
// because of a conflict. In a Galera cluster that is frequent: another node has
// changed the row.
func (l *rowLease) execute(ctx context.Context, q string, args ...any) (sql.Result, error) {
	const deadlock = 1213
	for {
		result, err := l.db.ExecContext(ctx, q, args...)
		e, ok := errors.AsType[*mysql.MySQLError](err)
		if !ok || e.Number != deadlock || ctx.Err() != nil {
			return result, err
		}
		time.Sleep(mathrand.N(5 * time.Millisecond))
	}
}

// cleanUp releases the lease if it was acquired, even after the end of ctx.
func (l *rowLease) cleanUp(ctx context.Context) {
	ctx, cancel := driver.Cleanup(ctx, cleanup)
	defer cancel()
	_ = l.Release(ctx)
}
