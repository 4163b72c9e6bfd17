package coupon

import (
	"context"
	"fmt"
	"strings"

	"github.com/jmoiron/sqlx"
)

// MaxSegments bounds the segments of a coupon.
const MaxSegments = 64

// StockColumn is the stock of a row c of table coupons in all its segments and under way
// between them, in SQL. Within one statement it is the stock at one instant.
const StockColumn = `(c.stock + (SELECT COALESCE(SUM(s.stock), 0) FROM coupon_segments s WHERE s.coupon_id = c.id)
	+ (SELECT COALESCE(SUM(t.units), 0) FROM coupon_transfers t WHERE t.coupon_id = c.id))`

// VersionColumn is the version of a row c of table coupons with those of its segments.
const VersionColumn = `(c.version + (SELECT COALESCE(SUM(s.version), 0) FROM coupon_segments s WHERE s.coupon_id = c.id))`

// Split returns c with its stock in n rows that are decremented independently of
// each other: segment 0 in table coupons, the others in table coupon_segments.
// The error is an *InvalidError if n is not 1 to MaxSegments, or if a segment
// would be empty. Call it before Create.
func (c Coupon) Split(n int) (Coupon, error) {
	switch {
	case n < 1 || n > MaxSegments:
		return Coupon{}, &InvalidError{"segments", fmt.Sprintf("must be 1 to %d", MaxSegments)}
	case n > 1 && n > c.Stock:
		return Coupon{}, &InvalidError{"segments", "must not exceed stock"}
	}
	c.Segments = n
	return c, nil
}

// share returns the part of a number of units that a segment gets.
func (c Coupon) share(units, segment int) int {
	n := units / c.Segments
	if segment < units%c.Segments {
		n++
	}
	return n
}

// insertSegments inserts all segments of c but segment 0.
func insertSegments(ctx context.Context, conn *sqlx.Conn, c Coupon) error {
	if c.Segments == 1 {
		return nil
	}
	var args []any
	for segment := 1; segment < c.Segments; segment++ {
		args = append(args, c.ID, segment, c.share(c.Stock, segment))
	}
	rows := strings.Repeat(", (?, ?, ?)", c.Segments-1)[2:]
	_, err := conn.ExecContext(ctx, `INSERT INTO coupon_segments (coupon_id, segment, stock) VALUES `+rows, args...)
	return err
}

// lockSegments locks all segments of a coupon but segment 0, and returns their number,
// their stock with what is under way between segments, and the sum of their versions.
func lockSegments(ctx context.Context, conn *sqlx.Conn, id int64) (n, stock int, version int64, err error) {
	var segments []struct {
		Stock   int
		Version int64
	}
	const q = `SELECT stock, version FROM coupon_segments WHERE coupon_id = ? ORDER BY segment FOR UPDATE`
	if err := conn.SelectContext(ctx, &segments, q, id); err != nil || len(segments) == 0 {
		return 0, 0, 0, err
	}
	const underWay = `SELECT COALESCE(SUM(units), 0) FROM coupon_transfers WHERE coupon_id = ?`
	err = conn.GetContext(ctx, &stock, underWay, id)
	for _, s := range segments {
		stock, version = stock+s.Stock, version+s.Version
	}
	return len(segments), stock, version, err
}

// restockSegments adds the shares of add units to all segments of c but segment 0.
func restockSegments(ctx context.Context, conn *sqlx.Conn, c Coupon, add int) error {
	if c.Segments == 1 {
		return nil
	}
	const q = `
		UPDATE coupon_segments SET stock = stock + ? + (segment < ?), version = version + 1
		WHERE coupon_id = ?`
	_, err := conn.ExecContext(ctx, q, add/c.Segments, add%c.Segments, c.ID)
	return err
}
