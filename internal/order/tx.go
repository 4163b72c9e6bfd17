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

// errCommit marks an error of the commit itself. The commit may have been
// executed, and only its reply lost.
var errCommit = errors.New("commit")

// inTx runs work in a transaction and commits if it returns nil. An error of
// the commit itself wraps errCommit; any other error means that nothing was
// committed.
func inTx(ctx context.Context, db *sqlx.DB, work func(tx *sqlx.Tx) error) error {
	tx, err := db.BeginTxx(ctx, nil)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	if err := work(tx); err != nil {
		_ = tx.Rollback() // if it fails, the connection is closed and the server rolls back
		return err
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("%w: %w", errCommit, err)
	}
	return nil
}

// MySQL's error numbers that a transaction has to expect.
const (
	duplicateKey    = 1062
	lockWaitTimeout = 1205
	deadlock        = 1213
)

// hasErrorNumber reports whether err is a MySQL error with one of numbers.
func hasErrorNumber(err error, numbers ...uint16) bool {
	serverErr, ok := errors.AsType[*mysql.MySQLError](err)
	return ok && slices.Contains(numbers, serverErr.Number)
}

// errConflict says that a row's version changed between read and write.
var errConflict = errors.New("version changed")

// maxAttempts bounds how often one transaction is executed.
const maxAttempts = 200

// retry executes a transaction again, after a short random pause, while it
// fails because of a deadlock, a lock wait timeout or a version conflict, until
// ctx ends.
func retry(ctx context.Context, transaction func() error) error {
	pause := time.Millisecond
	for attempt := 1; ; attempt++ {
		err := transaction()
		if err == nil || attempt == maxAttempts || !errors.Is(err, errConflict) && !hasErrorNumber(err, deadlock, lockWaitTimeout) {
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

// resolveTimeout bounds the read after a lost commit reply. It is not bounded
// by the caller's deadline, which most often is what lost the reply.
const resolveTimeout = time.Second

// errRolledBack says that a commit failed, and that a read afterwards did not
// find the order.
var errRolledBack = errors.New("rolled back")

// resolve finds out whether a commit that failed with cause was executed. It
// returns nil if the order is found: then all orders of its transaction are
// committed. It returns an error that wraps errRolledBack if the order is not
// found, and any other error if the outcome remains unknown.
func resolve(ctx context.Context, db *sqlx.DB, orderID int64, cause error) error {
	found, err := isCommitted(ctx, db, orderID)
	switch {
	case err != nil:
		return errors.Join(cause, fmt.Errorf("read back: %w", err))
	case found:
		return nil
	default:
		return fmt.Errorf("%w: %w", errRolledBack, cause)
	}
}

// isCommitted reports whether an order is in the table. It blocks while the
// order's transaction is running: its share lock waits for the row lock of the
// insert.
func isCommitted(ctx context.Context, db *sqlx.DB, orderID int64) (bool, error) {
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
