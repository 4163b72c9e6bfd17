package order

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jmoiron/sqlx"
)

// errCommit marks an error that leaves open whether a transaction is committed:
// its reply was lost, or a proxy lost it.
var errCommit = errors.New("commit")

// inTx runs work in a transaction and commits if it returns nil. Unless the
// error wraps errCommit, the transaction is not committed and never will be.
//
// COMMIT and ROLLBACK are statements under ctx. The methods of sql.Tx have no
// deadline: they would wait for a silent server until TCP gives up.
func inTx(ctx context.Context, db *sqlx.DB, work func(conn *sqlx.Conn) error) error {
	conn, err := db.Connx(ctx)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	defer conn.Close()
	if _, err := conn.ExecContext(ctx, `START TRANSACTION`); err != nil {
		discard(conn)
		return fmt.Errorf("begin: %w", err)
	}
	if err := work(conn); err != nil {
		rollBack(ctx, conn)
		return err
	}
	return commit(ctx, conn)
}

// commit commits the open transaction of conn. Unless the error wraps errCommit,
// the transaction is not committed and never will be.
func commit(ctx context.Context, conn *sqlx.Conn) error {
	_, err := conn.ExecContext(ctx, `COMMIT`)
	if err == nil {
		return nil
	}
	discard(conn)
	if isRefusal(err) {
		return fmt.Errorf("commit refused: %w", err)
	}
	return fmt.Errorf("%w: %w", errCommit, err)
}

// rollBack ends the open transaction of conn. If it cannot, the server rolls
// back when it notices that the connection is closed.
func rollBack(ctx context.Context, conn *sqlx.Conn) {
	if _, err := conn.ExecContext(ctx, `ROLLBACK`); err != nil {
		discard(conn)
	}
}

// discard closes conn instead of returning it to the pool.
func discard(conn *sqlx.Conn) {
	_ = conn.Raw(func(any) error { return driver.ErrBadConn })
}

// MySQL's error numbers that a transaction has to expect.
const (
	nodeNotReady     = 1047 // Galera: the node does not belong to the majority, or is joining it
	syntaxError      = 1064
	duplicateKey     = 1062
	lockWaitTimeout  = 1205
	deadlock         = 1213 // Galera, also as the reply to COMMIT: another node's transaction conflicts
	notSupported     = 1235
	outOfRange       = 1690
	rolledBack       = 3101 // MySQL Group Replication: the same
	noMultiStatement = 8130 // TiDB
)

// isRefusal reports whether err proves that the server does not commit the
// statement's transaction, now or later. The driver returns ErrBadConn only if
// it has sent nothing, or if the server is read-only.
//
// Other errors of the server prove nothing: a proxy also reports that it has
// lost its connection to the server (2013, 2006, 1105, …), which may still
// execute the statement. A Galera node that is cut off from the others while it
// commits (1180) cannot know whether they have the transaction.
func isRefusal(err error) bool {
	return isConflict(err) || hasErrorNumber(err, duplicateKey, outOfRange, syntaxError, notSupported, noMultiStatement)
}

// isConflict reports whether err is a refusal that a new attempt may avoid. An
// unknown commit is none, whatever error reading it back has had.
func isConflict(err error) bool {
	return !errors.Is(err, errCommit) && (errors.Is(err, driver.ErrBadConn) || hasErrorNumber(err, deadlock, lockWaitTimeout, rolledBack, nodeNotReady))
}

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
// fails because of a conflict or because its connection has become unusable,
// until ctx ends.
func retry(ctx context.Context, transaction func() error) error {
	wait := time.Millisecond
	for attempt := 1; ; attempt++ {
		err := transaction()
		if err == nil || attempt == maxAttempts || !errors.Is(err, errConflict) && !isConflict(err) {
			return err
		}
		if ended := pause(ctx, wait/2+rand.N(wait)); ended != nil {
			return errors.Join(err, ended)
		}
		wait = min(2*wait, 20*time.Millisecond)
	}
}

// pause waits for d, or returns why ctx has ended before.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// resolveTimeout bounds the read after a lost commit reply. It is not bounded
// by the caller's deadline, which most often is what lost the reply.
const resolveTimeout = time.Second

// resolve finds out whether a commit of o's transaction that failed with cause
// was executed. It returns nil if o is found: then all orders of the transaction
// are committed. Otherwise the outcome stays unknown: the server may not have
// received the transaction yet, and in a cluster another node may be asked, which
// has not applied it yet.
func resolve(ctx context.Context, db *sqlx.DB, o Order, cause error) error {
	found, err := isCommitted(ctx, db, o)
	switch {
	case err != nil:
		return errors.Join(cause, fmt.Errorf("read back: %w", err))
	case found:
		return nil
	default:
		return fmt.Errorf("not found when read back: %w", cause)
	}
}

// isCommitted reports whether o is in the table. FOR UPDATE makes it block while
// o's transaction is running, where a plain read would miss a commit that takes
// its time. MySQL, MariaDB and TiDB all have it, proxies send it to the master,
// and it locks one row at most, until the statement ends. Another order may have
// o's id: see maxIDAttempts.
func isCommitted(ctx context.Context, db *sqlx.DB, o Order) (bool, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), resolveTimeout)
	defer cancel()
	const q = `SELECT user_id FROM coupon_orders WHERE id = ? AND coupon_id = ? FOR UPDATE`
	var userID int64
	err := db.GetContext(ctx, &userID, q, o.ID, o.CouponID)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return userID == o.UserID && err == nil, err
}
