// Package mysqllock is two locks on MySQL 8 or MariaDB 10.11, and later ones:
// Rows, with leases that end by the server's clock and fences that live beside
// the data they guard, and Named, on GET_LOCK, with neither.
//
// Rows are as durable as the database; a failover to a replica that has not
// yet seen a row frees its lock under the holder, but not the fence's order if
// the data is on that replica too.
package mysqllock

import (
	"context"
	"crypto/rand"
	"fmt"
	mathrand "math/rand/v2"
	"time"

	"github.com/jmoiron/sqlx"

	"example.com/flashsale/internal/lock"
)

const (
	// asking bounds the one statement of a TryLock.
	asking = 10 * time.Second
	// cleanup bounds the attempt to let go of what an unknown outcome may
	// have left; should it fail, the end of the lease is what lets go.
	cleanup = 2 * time.Second
)

// Rows keeps each lock in a row of table locks: owner, fence and end.
//
// A fence is the server's time in microseconds, or one more than the last if
// that is higher. So it rises even after the row is gone, and rows that nobody
// has held for a day go away by and by.
type Rows struct{ db *sqlx.DB }

// NewRows returns a locker that uses db, which remains the caller's to close.
func NewRows(db *sqlx.DB) *Rows { return &Rows{db} }

// TryLock implements lock.Locker, in one statement. That is never cut short: a
// server may still run what nobody waits for, even after the order to let go.
// So when ctx ends first, letting go follows the answer.
func (r *Rows) TryLock(ctx context.Context, key string, ttl time.Duration) (lock.Lease, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	held := &row{db: r.db, key: key, owner: rand.Text()}
	answer := make(chan error, 1)
	go func() { answer <- held.take(context.WithoutCancel(ctx), ttl) }()
	select {
	case err := <-answer:
		return held.judge(err)
	case <-ctx.Done():
		go held.forget(answer)
		return nil, fmt.Errorf("mysqllock: take %s: %w", key, context.Cause(ctx))
	}
}

// A row is one owner in one row.
type row struct {
	db    *sqlx.DB
	key   string
	owner string
	fence uint64
}

// Fence implements lock.Lease.
func (l *row) Fence() uint64 { return l.fence }

// take makes us the owner if nobody is; it changes nothing otherwise. Columns
// are assigned from left to right, and each sees those before it: the fence
// sees the former owner and end, the owner the former end, and the end
// whether we are the owner. LAST_INSERT_ID(x) brings x home, so that it takes
// no second question: the fence, or zero. Whoever asks again, because the
// reply was lost, gets the same fence.
func (l *row) take(ctx context.Context, ttl time.Duration) error {
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
	ctx, cancel := context.WithTimeout(ctx, asking)
	defer cancel()
	us := ttl.Microseconds()
	result, err := l.db.ExecContext(ctx, q, l.key, l.owner, us, l.owner, l.owner, l.owner, us)
	if err != nil {
		return err
	}
	fence, err := result.LastInsertId()
	l.fence = uint64(fence)
	return err
}

// judge turns the answer to take into TryLock's.
func (l *row) judge(err error) (lock.Lease, error) {
	switch {
	case err == nil && l.fence > 0:
		return l, nil
	case err == nil:
		return nil, lock.ErrLocked
	}
	l.abandon()
	return nil, fmt.Errorf("mysqllock: take %s: %w", l.key, err)
}

// forget lets go when the answer to take is there.
func (l *row) forget(answer <-chan error) {
	if held, err := l.judge(<-answer); err == nil {
		held.(*row).abandon()
	}
}

// Extend implements lock.Lease.
func (l *row) Extend(ctx context.Context, ttl time.Duration) error {
	const q = `
		UPDATE locks SET expires_at = UTC_TIMESTAMP(6) + INTERVAL ? MICROSECOND
		WHERE name = ? AND owner = ? AND expires_at > UTC_TIMESTAMP(6)`
	if err := l.change(ctx, q, ttl.Microseconds(), l.key, l.owner); err != nil {
		return fmt.Errorf("mysqllock: extend %s: %w", l.key, err)
	}
	return nil
}

// Release implements lock.Lease.
func (l *row) Release(ctx context.Context) error {
	const q = `
		UPDATE locks SET owner = ''
		WHERE name = ? AND owner = ? AND expires_at > UTC_TIMESTAMP(6)`
	if err := l.change(ctx, q, l.key, l.owner); err != nil {
		return fmt.Errorf("mysqllock: release %s: %w", l.key, err)
	}
	if mathrand.N(100) == 0 {
		_ = sweep(ctx, l.db) // the next one will do it
	}
	return nil
}

// change reports ErrLost if q found no row of ours.
func (l *row) change(ctx context.Context, q string, args ...any) error {
	result, err := l.db.ExecContext(ctx, q, args...)
	if err != nil {
		return err
	}
	n, err := result.RowsAffected()
	if err == nil && n == 0 {
		err = lock.ErrLost
	}
	return err
}

// abandon lets go of what we may have got.
func (l *row) abandon() {
	ctx, cancel := context.WithTimeout(context.Background(), cleanup)
	defer cancel()
	_ = l.Release(ctx)
}
