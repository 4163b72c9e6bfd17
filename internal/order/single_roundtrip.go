package order

import (
	"context"
	"errors"
	"fmt"

	"github.com/jmoiron/sqlx"
)

// errNotApplied says that a single round trip changed nothing and will change
// nothing: a claim of the batch cannot win, the server rolled back, or it was
// not reached.
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
	switch {
	case err == nil:
		return nil
	case isRefusal(err):
		rollBack(ctx, conn)
		return fmt.Errorf("%w: %w", errNotApplied, err)
	default:
		discard(conn)
		return fmt.Errorf("%w: %w", errCommit, err)
	}
}
