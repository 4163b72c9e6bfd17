package main

import (
	"context"
	"fmt"

	"github.com/jmoiron/sqlx"
)

// An Audit is what the sale's data say, summed over its coupons.
type Audit struct {
	Orders        int
	DistinctUsers int // the most that any one coupon has
	Oversold      int // orders beyond the stock
	Duplicates    int // orders beyond one each
	Undersold     int // coupons unsold although somebody without one asked
	Adrift        int // coupons whose remaining stock and orders do not add up
	AckedMissing  int // orders that a client was promised and the table lacks
}

// A sold is one coupon's account.
type sold struct {
	ID      string `db:"id"`
	Initial int    `db:"initial_stock"`
	Left    int    `db:"stock"`
	Orders  int    `db:"orders"`
	Users   int    `db:"users"`
}

// add accounts for one more coupon, which users asked for.
func (a *Audit) add(c sold, users int) {
	a.Orders += c.Orders
	a.DistinctUsers = max(a.DistinctUsers, c.Users)
	a.Oversold += max(0, c.Orders-c.Initial)
	a.Duplicates += c.Orders - c.Users
	a.Undersold += max(0, min(c.Initial, users)-c.Orders)
	if c.Left != c.Initial-c.Orders {
		a.Adrift++
	}
}

// audit asks the database, never the service, for the truth about w's coupons.
func audit(ctx context.Context, db *sqlx.DB, w Workload, acknowledged []string) (Audit, error) {
	const q = `
		SELECT c.id, c.initial_stock, c.stock, COUNT(o.id) AS orders, COUNT(DISTINCT o.user_id) AS users
		FROM coupons c LEFT JOIN coupon_orders o ON o.coupon_id = c.id
		GROUP BY c.id, c.initial_stock, c.stock`
	var coupons []sold
	if err := db.SelectContext(ctx, &coupons, q); err != nil {
		return Audit{}, fmt.Errorf("audit coupons: %w", err)
	}
	if len(coupons) != w.Rounds {
		return Audit{}, fmt.Errorf("audit: %d coupons in the database, want %d", len(coupons), w.Rounds)
	}
	var a Audit
	for _, c := range coupons {
		a.add(c, w.Users)
	}
	var orders []string
	if err := db.SelectContext(ctx, &orders, "SELECT id FROM coupon_orders"); err != nil {
		return Audit{}, fmt.Errorf("audit orders: %w", err)
	}
	a.AckedMissing = missing(acknowledged, orders)
	return a, nil
}

// missing counts the acknowledgements that no order of their own stands
// behind; two that name the same order cannot both be true.
func missing(acknowledged, orders []string) int {
	free := make(map[string]bool, len(orders))
	for _, id := range orders {
		free[id] = true
	}
	n := 0
	for _, id := range acknowledged {
		if !free[id] {
			n++
		}
		free[id] = false
	}
	return n
}
