package rig

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// preloadedCoupon is the first of a hundred coupon ids that preloaded orders
// have. No such coupon exists.
const preloadedCoupon = 1_000_000

// Preload replaces all orders by n orders of other coupons. n is a power of ten.
// The user ids are spread as those of UserID. The database does not wait for its
// disk meanwhile.
//
// It is one statement into an empty table with the checks off, which MariaDB
// sorts before it builds the indexes. Inserting row by row takes three times as
// long.
func (s *Sale) Preload(ctx context.Context, n int) error {
	conn, err := s.DB.Connx(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	exec := func(q string, args ...any) {
		if err == nil {
			_, err = conn.ExecContext(ctx, q, args...)
		}
	}
	exec("SET GLOBAL innodb_flush_log_at_trx_commit = 0")
	exec("SET SESSION unique_checks = 0, foreign_key_checks = 0")
	exec("TRUNCATE TABLE coupon_orders")
	exec(insertOrders(n)+" ORDER BY n", 0, preloadedCoupon, 100, firstUserID, userIDs)
	ctx = context.WithoutCancel(ctx)
	_, durable := conn.ExecContext(ctx, "SET GLOBAL innodb_flush_log_at_trx_commit = 1")
	_, checks := conn.ExecContext(ctx, "SET SESSION unique_checks = 1, foreign_key_checks = 1")
	if err = errors.Join(err, durable, checks); err != nil {
		return fmt.Errorf("preload %d orders: %w", n, err)
	}
	return nil
}

// insertOrders returns a statement that inserts an order for each number n below
// limit, a power of ten. Its arguments are the id before the first, the first coupon,
// the number of coupons, and those of UserID.
func insertOrders(limit int) string {
	return `
		INSERT INTO coupon_orders (id, coupon_id, user_id, created_at)
		SELECT ? + n + 1, ? + n % ?, ? + (n * 2654435761) % ?, UTC_TIMESTAMP(3)
		FROM (` + numbersBelow(limit) + `) numbers`
}

// numbersBelow returns a query for the numbers n from 0 to below limit, a power
// of ten. It joins one table of ten digits for each zero of limit.
func numbersBelow(limit int) string {
	const digits = `(SELECT 0 AS i UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4
		UNION ALL SELECT 5 UNION ALL SELECT 6 UNION ALL SELECT 7 UNION ALL SELECT 8 UNION ALL SELECT 9)`
	var terms, tables []string
	for unit := 1; unit < limit; unit *= 10 {
		terms = append(terms, fmt.Sprintf("%d * d%d.i", unit, unit))
		tables = append(tables, fmt.Sprintf("%s d%d", digits, unit))
	}
	return "SELECT " + strings.Join(terms, " + ") + " AS n FROM " + strings.Join(tables, ", ")
}
