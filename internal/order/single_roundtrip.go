package order

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"

	"github.com/go-sql-driver/mysql"
	"github.com/jmoiron/sqlx"
)

// errNotAtOnce says that not all claims of a batch could win, or not in one
// round trip, and that nothing was done.
var errNotAtOnce = errors.New("not all at once")

// atOnce makes the orders of all claims in one round trip, or none. That is
// what nearly every batch needs: who has an order, and what is sold out, is
// known before. The database must be open for several statements at once.
//
// The server runs them one after the other, until one fails: the insert if
// somebody has an order; the sum, by an overflow that no SQL mode forgives, if
// the stock was not taken. So only a batch that is whole comes to its commit.
// The coupon's row is locked last and, within the server, for no round trip.
//
// An error wraps errNotAtOnce, or errCommit if the batch may have been made.
func (b *batch) atOnce(ctx context.Context, db *sqlx.DB) error {
	insertion, args := b.insertion()
	q := `START TRANSACTION; ` + insertion + `;
		UPDATE coupons SET stock = stock - ? WHERE id = ? AND stock >= ?;
		SELECT 9223372036854775807 + (ROW_COUNT() <> 1);
		COMMIT`
	n := len(b.claims)
	conn, err := db.Connx(ctx)
	if err != nil {
		return fmt.Errorf("%w: %w", errNotAtOnce, err)
	}
	defer conn.Close()
	b.won = b.claims
	_, err = conn.ExecContext(ctx, q, append(args, n, b.couponID, n)...)
	switch refusal, refused := errors.AsType[*mysql.MySQLError](err); {
	case err == nil:
		return nil
	case errors.Is(err, driver.ErrBadConn): // it was dead before anything was sent
		return fmt.Errorf("%w: %w", errNotAtOnce, err)
	case refused && rollBack(ctx, conn) && beforeCommit(refusal):
		return fmt.Errorf("%w: %w", errNotAtOnce, err)
	}
	return fmt.Errorf("%w: %w", errCommit, err)
}

// beforeCommit reports whether an error can only be that of a statement before
// COMMIT, or of a commit that was undone.
func beforeCommit(err *mysql.MySQLError) bool {
	const outOfRange = 1690
	return sqlError(err, duplicateKey, outOfRange, deadlock, lockWaitTimeout)
}

// answered reports whether the server has said no, and so has stopped. Where it
// was the connection that ended, the server may still come to the commit: then
// nothing may be tried again.
func answered(err error) bool {
	_, ok := errors.AsType[*mysql.MySQLError](err)
	return ok
}

// rollBack ends what a failed statement has left open. A connection that cannot
// do that is closed, and the server does it.
func rollBack(ctx context.Context, conn *sqlx.Conn) bool {
	_, err := conn.ExecContext(ctx, `ROLLBACK`)
	if err != nil {
		_ = conn.Raw(func(any) error { return driver.ErrBadConn })
	}
	return err == nil
}
