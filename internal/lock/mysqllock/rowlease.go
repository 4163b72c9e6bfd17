package mysqllock

import (
	"context"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"sync/atomic"
	"time"

	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/lock/driver"
)

// A rowLease is one owner of one row.
type rowLease struct {
	rows        *Rows
	key         string
	owner       string
	requestedAt time.Time
	sent        bool // the statement that acquires, so that it may have been executed
	uncertain   bool // an earlier execution of it may still be under way
	fence       uint64
	left        time.Duration // of the holder's lease, if that is another
	expiry      driver.Expiry
	releasing   atomic.Bool // the statement that releases was sent
}

// Fence implements lock.Lease.
func (l *rowLease) Fence() uint64 { return l.fence }

// refusal marks the result of an acquire that was refused. The other bits are how
// many microseconds the holder's lease has left. No fence is that high.
const refusal = 1 << 62

// acquire makes the lease the owner of its row and sets its fence, or sets left
// and changes nothing if the row has another owner. The end of ctx ends the wait
// for a connection only.
//
// Columns are assigned from left to right, and each expression sees the new
// values of the columns before it: fence depends on the old owner and expiry,
// owner on the old expiry, expires_at on the new owner. LAST_INSERT_ID(x)
// returns the fence, or the refusal, with the result, so that no second statement
// is needed. Repeating acquire after a lost reply yields the same fence.
func (l *rowLease) acquire(ctx context.Context, ttl time.Duration) error {
	const q = `
		INSERT INTO locks (name, owner, fence, expires_at)
		VALUES (?, ?, LAST_INSERT_ID(TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))),
		        UTC_TIMESTAMP(6) + INTERVAL ? MICROSECOND)
		ON DUPLICATE KEY UPDATE
			fence = IF(owner = ?, LAST_INSERT_ID(fence),
				IF(owner = '' OR expires_at <= UTC_TIMESTAMP(6),
					LAST_INSERT_ID(GREATEST(fence + 1, TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)))),
					fence + 0 * LAST_INSERT_ID(? + TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), expires_at)))),
			owner = IF(owner = '' OR expires_at <= UTC_TIMESTAMP(6), ?, owner),
			expires_at = IF(owner = ?, UTC_TIMESTAMP(6) + INTERVAL ? MICROSECOND, expires_at)`
	us := driver.Units(ttl, time.Microsecond)
	s := statement{query: q, args: []any{l.key, l.owner, us, l.owner, refusal, l.owner, l.owner, us}}
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), acquireTimeout)
	defer cancel()
	result, err := s.execute(ctx, bounded, l.rows.db)
	l.sent, l.uncertain = s.sent > 0, s.sent > 1
	if err != nil {
		return err
	}
	id, err := result.LastInsertId()
	if id&refusal != 0 {
		l.left = time.Duration(id&^refusal) * time.Microsecond
	} else {
		l.fence = uint64(id)
	}
	return err
}

// result turns the outcome of acquire into that of TryLock.
func (l *rowLease) result(ctx context.Context, err error) (lock.Lease, error) {
	switch {
	case err == nil && l.fence > 0:
		return l, nil
	case err == nil:
		return nil, lock.Locked(l.left)
	case l.sent:
		l.abandon(ctx, l.requestedAt)
	}
	return nil, fmt.Errorf("mysqllock: acquire %s: %w", l.key, err)
}

// releaseLate releases the lease if acquire succeeds after its caller has
// returned.
func (l *rowLease) releaseLate(ctx context.Context, outcome <-chan error) {
	if _, err := l.result(ctx, <-outcome); err == nil {
		l.abandon(ctx, time.Now()) // acquire has ended: one reply to the release is enough
	}
}

// abandon releases what acquire may have acquired, or may yet, requested at
// requestedAt.
func (l *rowLease) abandon(ctx context.Context, requestedAt time.Time) {
	l.rows.abandoned.Release(ctx, requestedAt, func(ctx context.Context) error {
		_, _, err := l.remove(ctx)
		return err
	})
}

// Extend implements lock.Lease.
func (l *rowLease) Extend(ctx context.Context, ttl time.Duration) error {
	const q = `
		UPDATE locks SET expires_at = UTC_TIMESTAMP(6) + INTERVAL ? MICROSECOND
		WHERE name = ? AND owner = ? AND expires_at > UTC_TIMESTAMP(6)`
	s := statement{query: q, args: []any{driver.Units(ttl, time.Microsecond), l.key, l.owner}}
	return l.expiry.Extend(ttl, func() (extended bool, err error) {
		if extended, err = s.update(ctx, l.rows.db); err != nil {
			err = fmt.Errorf("mysqllock: extend %s: %w", l.key, err)
		}
		return extended, err
	})
}

// Release implements lock.Lease. If its outcome is unknown, or an earlier execution of
// acquire may come after it, it is repeated in the background.
func (l *rowLease) Release(ctx context.Context) error {
	start := time.Now()
	err := l.expiry.Release(func() (found, repeated bool, err error) {
		earlier := l.releasing.Swap(true)
		found, repeated, err = l.remove(ctx)
		if err != nil {
			err = fmt.Errorf("mysqllock: release %s: %w", l.key, err)
		}
		return found, earlier || repeated, err
	})
	if !errors.Is(err, lock.ErrLost) && (err != nil || l.uncertain) {
		l.abandon(ctx, start)
	}
	if err == nil && mathrand.N(100) == 0 {
		_ = sweep(ctx, l.rows.db) // a later release sweeps again
	}
	return err
}

// remove releases the row, and reports whether the lease held it, and whether an
// earlier attempt may have released it.
func (l *rowLease) remove(ctx context.Context) (found, repeated bool, err error) {
	const q = `
		UPDATE locks SET owner = ''
		WHERE name = ? AND owner = ? AND expires_at > UTC_TIMESTAMP(6)`
	s := statement{query: q, args: []any{l.key, l.owner}}
	found, err = s.update(ctx, l.rows.db)
	return found, s.sent > 1, err
}
