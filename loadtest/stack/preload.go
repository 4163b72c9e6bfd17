package stack

import (
	"context"
	"fmt"
)

// preloaded coupons have ids from here on, and a hundred share the orders.
const preloaded = 1_000_000

// Preload empties the table of orders and fills it with n, of other coupons
// and of users whose ids are spread as those of User. Meanwhile the database
// does not wait for its disk.
func (s *Sale) Preload(ctx context.Context, n int) error {
	conn, err := s.DB.Connx(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	do := func(q string, args ...any) {
		if err == nil {
			_, err = conn.ExecContext(ctx, q, args...)
		}
	}
	do("SET GLOBAL innodb_flush_log_at_trx_commit = 0")
	do("TRUNCATE TABLE coupon_orders")
	const q = `
		INSERT INTO coupon_orders (id, coupon_id, user_id, created_at)
		SELECT n + 1, ? + n % 100, ? + (n * 2654435761) % ?, UTC_TIMESTAMP(3)
		FROM (SELECT ? + a.i + 10 * b.i + 100 * c.i + 1000 * d.i AS n FROM ` + ten + ` a, ` + ten + ` b, ` + ten + ` c, ` + ten + ` d) numbers
		WHERE n < ? ORDER BY n`
	for from := 0; from < n; from += 10_000 {
		do(q, preloaded, firstUser, users, from, n)
	}
	_, back := conn.ExecContext(context.WithoutCancel(ctx), "SET GLOBAL innodb_flush_log_at_trx_commit = 1")
	if err == nil {
		err = back
	}
	if err != nil {
		return fmt.Errorf("preload %d orders: %w", n, err)
	}
	return nil
}

const ten = `(SELECT 0 AS i UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4
	UNION ALL SELECT 5 UNION ALL SELECT 6 UNION ALL SELECT 7 UNION ALL SELECT 8 UNION ALL SELECT 9)`
