package mysqllock

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/jmoiron/sqlx"

	"example.com/flashsale/internal/lock"
)

// Guard reports ErrLost if key has a later holder than the one with fence, and
// sees to it that there is none until tx ends: the check and what tx changes
// are one step, however long the holder was paused before it. A lease that has
// merely expired passes. Whoever asks for the lock waits for tx meanwhile, so
// let it be short.
//
// Where lock and data are not in one database, the data must keep the fence
// itself: UPDATE … SET …, fence = ? WHERE … AND fence <= ?.
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

// sweep deletes some rows that nobody has held for a day. A fence must not
// fall when its row has gone, and does not, for no statement that began before
// the last holder came is still under way then, and no server's clock steps
// back that far.
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
