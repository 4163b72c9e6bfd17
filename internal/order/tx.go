package order

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jmoiron/sqlx"
)

// errCommit marks a commit that got no answer: it may have been done.
var errCommit = errors.New("commit")

// inTx runs work in a transaction and commits if it returns nil. An error of
// the commit itself wraps errCommit; any other error means that nothing was
// done.
func inTx(ctx context.Context, db *sqlx.DB, work func(tx *sqlx.Tx) error) error {
	tx, err := db.BeginTxx(ctx, nil)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	if err := work(tx); err != nil {
		_ = tx.Rollback() // the connection is closed if it cannot
		return err
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("%w: %w", errCommit, err)
	}
	return nil
}

// MySQL's numbers for what a transaction may meet.
const (
	duplicateKey    = 1062
	lockWaitTimeout = 1205
	deadlock        = 1213
)

// sqlError reports whether err is the server's error with one of numbers.
func sqlError(err error, numbers ...uint16) bool {
	answer, ok := errors.AsType[*mysql.MySQLError](err)
	return ok && slices.Contains(numbers, answer.Number)
}

// retried runs a transaction again, after a short random pause, as long as it
// fails as the victim of a deadlock or of a lock wait and ctx lasts.
func retried(ctx context.Context, transaction func() error) error {
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		err := transaction()
		if err == nil || !sqlError(err, deadlock, lockWaitTimeout) {
			return err
		}
		select {
		case <-time.After(pause/2 + rand.N(pause)):
		case <-ctx.Done():
			return errors.Join(err, context.Cause(ctx))
		}
	}
}

// resolveTimeout bounds the reading back after an unanswered commit. It runs
// beyond the caller's deadline, which is what most often causes the doubt.
const resolveTimeout = time.Second

// committed finds out whether the orders of a commit without an answer were
// made, all or none of which stand under the id of any one. It waits for a
// transaction that is still under way: the share lock stands behind the row
// lock of its insert.
func committed(ctx context.Context, db *sqlx.DB, orderID int64) (bool, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), resolveTimeout)
	defer cancel()
	const q = `SELECT id FROM coupon_orders WHERE id = ? LOCK IN SHARE MODE`
	var id int64
	err := db.GetContext(ctx, &id, q, orderID)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}
