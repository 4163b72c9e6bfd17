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
)

// lookups reads the orders of single users. The lookups of a coupon share queries.
type lookups = batchread.Reader[int64, int64, found] // by coupon and user

// found is what a lookup has found, at one instant.
type found struct {
	orderID int64 // 0 if the user has no order
	soldOut bool  // the coupon has no stock
}

const (
	// lookupTimeout bounds a query. The callers have deadlines of their own.
	lookupTimeout = 2 * time.Second
	// slowLookup is when a query no longer holds up the next one of its coupon.
	slowLookup = 200 * time.Millisecond
)

func newLookups(db *sqlx.DB) *lookups {
	return batchread.New(slowLookup, func(ctx context.Context, couponID int64, userIDs []int64) ([]found, error) {
		ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
		defer cancel()
		return lookUp(ctx, db, couponID, userIDs)
	})
}

// lookUp reads the orders of users and the coupon's stock. It is one statement,
// for the reason that filters.load gives.
func lookUp(ctx context.Context, db *sqlx.DB, couponID int64, userIDs []int64) ([]found, error) {
	q := `
		SELECT ` + coupon.StockColumn + ` AS stock, o.user_id, o.id FROM coupons c
		LEFT JOIN coupon_orders o ON o.coupon_id = ? AND o.user_id IN (?` + strings.Repeat(",?", len(userIDs)-1) + `)
		WHERE c.id = ?`
	args := make([]any, 0, len(userIDs)+2)
	args = append(args, couponID)
	for _, id := range userIDs {
		args = append(args, id)
	}
	var rows []struct {
		Stock  int
		UserID sql.NullInt64 `db:"user_id"` // NULL if no user has an order
		ID     sql.NullInt64
	}
	if err := db.SelectContext(ctx, &rows, q, append(args, couponID)...); err != nil {
		return nil, fmt.Errorf("select orders: %w", err)
	}
	orderIDs, soldOut := make(map[int64]int64, len(rows)), false
	for _, row := range rows {
		orderIDs[row.UserID.Int64], soldOut = row.ID.Int64, row.Stock < 1
	}
	all := make([]found, len(userIDs))
	for i, id := range userIDs {
		all[i] = found{orderIDs[id], soldOut}
	}
	return all, nil
}
