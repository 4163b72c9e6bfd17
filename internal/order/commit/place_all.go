package commit

import (
	"context"
	"errors"
	"fmt"

	"github.com/jmoiron/sqlx"

	"example.com/flashsale/internal/order"
	"example.com/flashsale/internal/transaction"
)

// errNotApplied says that placeAll changed nothing and will change nothing: an
// order of the batch cannot be placed, the server rolled back, or it was not
// reached.
var errNotApplied = errors.New("batch not applied")

// placeAll commits all orders, or none, in two round trips. Nearly every batch can be
// committed like this, because duplicates and sold-out coupons are refused before. It
// needs a pool with multi-statements. The rows that hold the stock are locked last. An
// error wraps errNotApplied, or transaction.ErrUnknown if the batch may be committed.
//
// The server executes the statements in order and stops at the first that fails: the
// INSERT fails if a user has an order; a SELECT overflows, an error in every SQL mode, if
// the UPDATE before it did not find enough stock.
//
// COMMIT is sent by itself. When a transaction of another node of a cluster aborts this
// one between two statements of a round trip, the server may report no error. It then
// executes the remaining ones without a transaction, and COMMIT would succeed although
// nothing is committed. It reports the abort of the last statement, or at the next round
// trip. Each UPDATE looks for an order of this transaction. Otherwise it would take the
// stock without the orders if the INSERT was aborted.
func (b *batch) placeAll(ctx context.Context, db *sqlx.DB) error {
	conn, err := db.Connx(ctx)
	if err != nil {
		return fmt.Errorf("%w: %w", errNotApplied, err)
	}
	defer conn.Close()
	b.placed = b.orders
	changed, err := b.placeStatements().Exec(ctx, conn, "place orders")
	if err == nil && changed == 1 {
		err = transaction.Commit(ctx, conn)
		if err == nil || errors.Is(err, transaction.ErrUnknown) {
			return err
		}
	} else {
		transaction.RollBack(ctx, conn)
	}
	return errors.Join(errNotApplied, err)
}

// checkRow fails if the statement before it has changed no row.
const checkRow = `; SELECT 9223372036854775807 + (ROW_COUNT() <> 1)`

// guard is the condition that the transaction has inserted an order.
const guard = ` AND (SELECT COUNT(*) FROM coupon_orders WHERE id = ?) = 1`

// placeStatements returns the statements that begin a transaction, insert the
// orders, their holds and their event, and decrement the stocks. The last of them has to
// change one row.
func (b *batch) placeStatements() transaction.Statement {
	all := insertStatement(sortByKey(b.orders)...)
	all.SQL = `START TRANSACTION; ` + all.SQL
	all = all.Then(holdsStatement(b.orders...)).Then(b.outbox.Statement(order.Claimed, ordersOf(b.orders)))
	for i, p := range b.parts {
		if i > 0 {
			all.SQL += checkRow
		}
		all = all.Then(decrementStatement(p.queue.segment, len(p.orders)))
		all.SQL, all.Args = all.SQL+guard, append(all.Args, b.orders[0].ID)
	}
	return all
}
