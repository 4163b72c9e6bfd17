package winners

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"github.com/jmoiron/sqlx"

	"example.com/flashsale/internal/batchread"
	"example.com/flashsale/internal/coupon"
	"example.com/flashsale/internal/order"
)

// lookups reads the orders of single claimants. The lookups of a coupon share queries.
type lookups = batchread.Reader[int64, order.Claimant, found] // by coupon

// found is what a lookup has found, at one instant.
type found struct {
	orders  map[order.Claimant]int64 // their ids
	version int64                    // of the coupon
	soldOut bool                     // the coupon has no stock
}

const (
	// lookupTimeout bounds a query. The callers have deadlines of their own.
	lookupTimeout = 2 * time.Second
	// slowLookup is when a query no longer holds up the next one of its coupon.
	slowLookup = 200 * time.Millisecond
)

func newLookups(db *sqlx.DB) *lookups {
	return batchread.New(slowLookup, func(ctx context.Context, couponID int64, all []order.Claimant) (found, error) {
		ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
		defer cancel()
		return lookUp(ctx, db, couponID, all)
	})
}

// lookUp reads the orders of claimants and the coupon's stock. It is one statement,
// for the reason that filters.load gives.
func lookUp(ctx context.Context, db *sqlx.DB, couponID int64, claimants []order.Claimant) (found, error) {
	q := `
		SELECT u.stock, u.version, o.user_id, o.number, o.id FROM (` + coupon.Stock + `) u
		LEFT JOIN coupon_orders o ON o.coupon_id = ? AND o.user_id IN (?` + strings.Repeat(",?", len(claimants)-1) + `)`
	args := make([]any, 0, len(claimants)+3)
	args = append(args, couponID, couponID, couponID)
	for _, by := range claimants {
		args = append(args, by.UserID)
	}
	var rows []struct {
		Stock   int
		Version int64
		UserID  sql.NullInt64 `db:"user_id"` // NULL if no user has an order
		Number  sql.NullInt64
		ID      sql.NullInt64
	}
	if err := db.SelectContext(ctx, &rows, q, args...); err != nil {
		return found{}, fmt.Errorf("select orders: %w", err)
	}
	all := found{orders: make(map[order.Claimant]int64, len(rows))}
	for _, row := range rows {
		by := order.Claimant{UserID: row.UserID.Int64, Number: int(row.Number.Int64)}
		all.orders[by], all.version, all.soldOut = row.ID.Int64, row.Version, row.Stock < 1
	}
	return all, nil
}
