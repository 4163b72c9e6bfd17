package rig

import (
	"context"
	"fmt"
	"strings"
)

// preloaded coupons have ids from here on, and a hundred share the orders.
const preloaded = 1_000_000

// Preload empties the table of orders and fills it with n, a power of ten, of
// other coupons and of users whose ids are spread as those of User. Meanwhile
// the database does not wait for its disk.
//
// It is one statement into an empty table with the checks off, which MariaDB
// sorts before it builds the indexes; row by row it would take three times as
// long.
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
	do("SET SESSION unique_checks = 0, foreign_key_checks = 0")
	do("TRUNCATE TABLE coupon_orders")
	do(`
		INSERT INTO coupon_orders (id, coupon_id, user_id, created_at)
		SELECT n + 1, ? + n % 100, ? + (n * 2654435761) % ?, UTC_TIMESTAMP(3)
		FROM (`+numbers(n)+`) numbers ORDER BY n`, preloaded, firstUser, users)
	_, back := conn.ExecContext(context.WithoutCancel(ctx), "SET GLOBAL innodb_flush_log_at_trx_commit = 1")
	if err == nil {
		err = back
	}
	_, _ = conn.ExecContext(context.WithoutCancel(ctx), "SET SESSION unique_checks = 1, foreign_key_checks = 1")
	if err != nil {
		return fmt.Errorf("preload %d orders: %w", n, err)
	}
	return nil
}

// numbers selects n from 0 up to below a power of ten: one table of ten digits
// for each of its zeros.
func numbers(below int) string {
	const ten = `(SELECT 0 AS i UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4
		UNION ALL SELECT 5 UNION ALL SELECT 6 UNION ALL SELECT 7 UNION ALL SELECT 8 UNION ALL SELECT 9)`
	var terms, tables []string
	for unit := 1; unit < below; unit *= 10 {
		terms = append(terms, fmt.Sprintf("%d * d%d.i", unit, unit))
		tables = append(tables, fmt.Sprintf("%s d%d", ten, unit))
	}
	return "SELECT " + strings.Join(terms, " + ") + " AS n FROM " + strings.Join(tables, ", ")
}
