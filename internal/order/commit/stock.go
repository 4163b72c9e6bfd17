package commit

import (
	"context"
	"fmt"

	"github.com/jmoiron/sqlx"

	"example.com/flashsale/internal/coupon"
	"example.com/flashsale/internal/order"
	"example.com/flashsale/internal/transaction"
)

// A decrementFunc takes one unit of a segment within a transaction. It returns
// coupon.ErrSoldOut if there is none.
type decrementFunc func(ctx context.Context, conn *sqlx.Conn, s order.Segment) error

// decrementConditionally guards I1 by the condition of the UPDATE itself. It
// needs one statement, and no lock beyond that statement's own.
func decrementConditionally(ctx context.Context, conn *sqlx.Conn, s order.Segment) error {
	changed, err := decrementStatement(s, 1).Exec(ctx, conn, updateStock)
	if err == nil && changed == 0 {
		return coupon.ErrSoldOut
	}
	return err
}

// decrementOptimistically reads the row, then decrements only if its version is
// unchanged: the articles' optimistic lock. It returns transaction.ErrConflict if another
// transaction has changed the version.
func decrementOptimistically(ctx context.Context, conn *sqlx.Conn, s order.Segment) error {
	table, row, args := s.Row()
	var read struct{ Stock, Version int64 }
	if err := conn.GetContext(ctx, &read, `SELECT stock, version FROM `+table+` WHERE `+row, args...); err != nil {
		return fmt.Errorf("select stock: %w", err)
	}
	if read.Stock < 1 {
		return coupon.ErrSoldOut
	}
	// The version alone would do if every transaction raised it. Those of the
	// other strategies do not, and an instance may still run one of them.
	changed, err := s.Update(`stock = stock - 1, version = version + 1`, nil, `version = ? AND stock >= 1`,
		read.Version).Exec(ctx, conn, updateStock)
	if err == nil && changed == 0 {
		return transaction.ErrConflict
	}
	return err
}

// decrementPessimistically locks the row before it reads and decrements: the
// articles' pessimistic lock.
func decrementPessimistically(ctx context.Context, conn *sqlx.Conn, s order.Segment) error {
	return readAndDecrement(ctx, conn, s, ` FOR UPDATE`)
}

// decrementUnguarded reads and decrements without any guard, as a service that
// relies on its lock alone does. It is the control of the experiments, for the
// lab only.
func decrementUnguarded(ctx context.Context, conn *sqlx.Conn, s order.Segment) error {
	return readAndDecrement(ctx, conn, s, ``)
}

func readAndDecrement(ctx context.Context, conn *sqlx.Conn, s order.Segment, locking string) error {
	stock, err := selectStock(ctx, conn, s, locking)
	if err != nil {
		return err
	}
	if stock < 1 {
		return coupon.ErrSoldOut
	}
	_, err = s.Update(`stock = stock - 1`, nil, `TRUE`).Exec(ctx, conn, updateStock)
	return err
}

func selectStock(ctx context.Context, conn *sqlx.Conn, s order.Segment, locking string) (stock int, err error) {
	table, row, args := s.Row()
	if err := conn.GetContext(ctx, &stock, `SELECT stock FROM `+table+` WHERE `+row+locking, args...); err != nil {
		return 0, fmt.Errorf("select stock: %w", err)
	}
	return stock, nil
}

// decrementStatement returns the UPDATE that takes n units of a segment if it has as many.
func decrementStatement(s order.Segment, n int) transaction.Statement {
	return s.Update(`stock = stock - ?`, []any{n}, `stock >= ?`, n)
}

// updateStock is what Exec of such a statement tries.
const updateStock = "update stock"
