package mysqllock

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/jmoiron/sqlx"

	"example.com/flashsale/internal/lock"
)

// Guard returns ErrLost if key has had a holder with a higher fence, and
// prevents any until tx ends. So the check and the changes of tx are atomic,
// however long the holder was paused before. Guard accepts a lease that has
// expired, as long as no other holder has followed. TryLock of the same key
// blocks until tx ends, so keep tx short.
//
// If lock and data are in different databases, keep the fence with the data:
// UPDATE … SET …, fence = ? WHERE … AND fence <= ?.
func Guard(ctx context.Context, tx *sqlx.Tx, key string, fence uint64) error {
	const q = `SELECT fence FROM locks WHERE name = ? AND fence <= ? FOR UPDATE`
	err := tx.GetContext(ctx, new(uint64), q, key, fence)
	if errors.Is(err, sql.ErrNoRows) {
		err = lock.ErrLost
	}
	if err != nil {
		return fmt.Errorf("mysqllock: guard %s: %w", key, err)
	}
	return nil
}

// sweep deletes some of the rows that have not been held for a day. The next
// fence of such a key is still higher than its last one: it is the time at
// which its statement began, and neither does a statement run for a day nor a
// server's clock step back by one.
func sweep(ctx context.Context, db sqlx.ExtContext) error {
	const old = `SELECT name FROM locks WHERE expires_at < UTC_TIMESTAMP(6) - INTERVAL 1 DAY ORDER BY name LIMIT 500`
	var names []string
	if err := sqlx.SelectContext(ctx, db, &names, old); err != nil || len(names) == 0 {
		return err
	}
	const q = `DELETE FROM locks WHERE name IN (?) AND expires_at < UTC_TIMESTAMP(6) - INTERVAL 1 DAY`
	query, args, err := sqlx.In(q, names)
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, query, args...)
	return err
}
