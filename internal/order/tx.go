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

// errConflict says that a row's version changed between look and write.
var errConflict = errors.New("version changed")

// maxTries bounds how often one transaction is tried.
const maxTries = 200

// retried runs a transaction again, after a short random pause, as long as it
// fails as the victim of a deadlock, of a lock wait or of another's version,
// and ctx lasts.
func retried(ctx context.Context, transaction func() error) error {
	pause := time.Millisecond
	for try := 1; ; try++ {
		err := transaction()
		if err == nil || try == maxTries || !errors.Is(err, errConflict) && !sqlError(err, deadlock, lockWaitTimeout) {
			return err
		}
		select {
		case <-time.After(pause/2 + rand.N(pause)):
		case <-ctx.Done():
			return errors.Join(err, context.Cause(ctx))
		}
		pause = min(2*pause, 20*time.Millisecond)
	}
}

// resolveTimeout bounds the reading back after an unanswered commit. It runs
// beyond the caller's deadline, which is what most often causes the doubt.
const resolveTimeout = time.Second

// errRolledBack says that a commit was not answered and, when it was read back,
// not done.
var errRolledBack = errors.New("rolled back")

// resolve turns an unanswered commit, which failed with cause, into a verdict
// where that can be had: nil if the order stands (and with it all that were
// made in its transaction), errRolledBack if nothing was made.
func resolve(ctx context.Context, db *sqlx.DB, orderID int64, cause error) error {
	made, err := committed(ctx, db, orderID)
	switch {
	case err != nil:
		return errors.Join(cause, fmt.Errorf("read back: %w", err))
	case made:
		return nil
	default:
		return fmt.Errorf("%w: %w", errRolledBack, cause)
	}
}

// committed reads an order back. It waits for a transaction that is still
// under way: its share lock stands behind the row lock of the insert.
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
