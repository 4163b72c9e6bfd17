package order

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"

	"github.com/go-sql-driver/mysql"
	"github.com/jmoiron/sqlx"
)

// errNotApplied says that a single round trip changed nothing: a claim of the
// batch cannot win, the server rolled back, or it was not reached.
var errNotApplied = errors.New("batch not applied")

// singleRoundTrip commits the orders of all claims in one round trip, or none.
// Nearly every batch can be committed like this, because duplicates and
// sold-out coupons are refused before. It needs a pool with multi-statements.
//
// The server executes the statements in order and stops at the first that
// fails: the INSERT fails if a user has an order; the SELECT overflows, an
// error in every SQL mode, if the UPDATE did not find enough stock. COMMIT is
// reached only if all claims win. The coupon's row is locked last, and no
// round trip is made while it is locked.
//
// An error wraps errNotApplied, or errCommit if the batch may be committed.
func (b *batch) singleRoundTrip(ctx context.Context, db *sqlx.DB) error {
	insert, args := b.insertStatement()
	q := `START TRANSACTION; ` + insert + `;
		UPDATE coupons SET stock = stock - ? WHERE id = ? AND stock >= ?;
		SELECT 9223372036854775807 + (ROW_COUNT() <> 1);
		COMMIT`
	n := len(b.claims)
	conn, err := db.Connx(ctx)
	if err != nil {
		return fmt.Errorf("%w: %w", errNotApplied, err)
	}
	defer conn.Close()
	b.won = b.claims
	_, err = conn.ExecContext(ctx, q, append(args, n, b.couponID, n)...)
	switch serverErr, ok := errors.AsType[*mysql.MySQLError](err); {
	case err == nil:
		return nil
	case errors.Is(err, driver.ErrBadConn): // the connection was dead before anything was sent
		return fmt.Errorf("%w: %w", errNotApplied, err)
	case ok && rollBack(ctx, conn) && failedBeforeCommit(serverErr):
		return fmt.Errorf("%w: %w", errNotApplied, err)
	}
	return fmt.Errorf("%w: %w", errCommit, err)
}

// failedBeforeCommit reports whether err can only come from a statement before
// COMMIT, or from a commit that was rolled back.
func failedBeforeCommit(err *mysql.MySQLError) bool {
	const outOfRange = 1690
	return hasErrorNumber(err, duplicateKey, outOfRange, deadlock, lockWaitTimeout)
}

// serverStopped reports whether the server returned an error, and so stopped
// executing. If instead the connection broke, the server may still commit, and
// the batch must not be tried again.
func serverStopped(err error) bool {
	_, ok := errors.AsType[*mysql.MySQLError](err)
	return ok
}

// rollBack ends the transaction that a failed statement has left open. If it
// cannot, it closes the connection, and the server rolls back.
func rollBack(ctx context.Context, conn *sqlx.Conn) bool {
	_, err := conn.ExecContext(ctx, `ROLLBACK`)
	if err != nil {
		_ = conn.Raw(func(any) error { return driver.ErrBadConn })
	}
	return err == nil
}
