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
// error in every SQL mode, if the UPDATE did not find enough stock in each
// segment. COMMIT is reached only if all claims win. The rows that hold the stock
// are locked last, and no round trip is made while they are locked.
//
// An error wraps errNotApplied, or errCommit if the batch may be committed.
func (b *batch) singleRoundTrip(ctx context.Context, db *sqlx.DB) error {
	insert, args := insertStatement(sortByKey(b.claims))
	q := `START TRANSACTION; ` + insert
	for _, units := range countUnits(b.claims) {
		decrement, decrementArgs := decrementStatement(units)
		q += `; ` + decrement + `; SELECT 9223372036854775807 + (ROW_COUNT() <> ?)`
		args = append(append(args, decrementArgs...), len(units))
	}
	q += `; COMMIT`
	conn, err := db.Connx(ctx)
	if err != nil {
		return fmt.Errorf("%w: %w", errNotApplied, err)
	}
	defer conn.Close()
	b.won = b.claims
	_, err = conn.ExecContext(ctx, q, args...)
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
