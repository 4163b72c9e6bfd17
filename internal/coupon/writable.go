package coupon

import (
	"context"
	"fmt"

	"example.com/flashsale/internal/transaction"
)

// CheckWritable returns the server's error if it refuses to decrement stocks: it is
// read-only, belongs to no majority, cannot log the statement, or has withdrawn the
// privilege. The statement finds no row, so it locks, logs and replicates nothing.
//
// After an error it closes the connection: another one may lead to a server that
// accepts writes.
func (s *Store) CheckWritable(ctx context.Context) error {
	conn, err := s.db.Connx(ctx)
	if err != nil {
		return fmt.Errorf("coupon: connect: %w", err)
	}
	defer conn.Close()
	if _, err := conn.ExecContext(ctx, `UPDATE coupons SET stock = stock WHERE id = 0`); err != nil {
		transaction.Discard(conn)
		return fmt.Errorf("coupon: write: %w", err)
	}
	return nil
}
