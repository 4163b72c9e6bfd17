package coupon

import (
	"context"
	"fmt"
	"strings"

	"github.com/jmoiron/sqlx"
)

// MaxSegments bounds the segments of a coupon.
const MaxSegments = 64

// ShardKey returns the number by whose lowest bits Vitess finds the shard of a coupon's segment,
// and of its orders. That of segment 0 is the coupon's id. Of two shards each thus has half the
// segments, of four a quarter. Other coupons may have the same. Vitess's vindex of two columns
// would put the first one's hash first, and so all segments of a coupon on one shard.
func ShardKey(couponID int64, segment int) int64 { return couponID ^ int64(segment) }

// StockRows selects the rows that have the stock of a coupon, whose id is both arguments: coupon_id,
// segment, stock, the units that the segment has counted in transfers, and version.
//
// On one database they are read at one instant. On Vitess each is read at an instant of its own,
// but its stock and what it has counted at the same: no transfer changes their sum. So the sum
// over all rows misses no unit that moves meanwhile.
const StockRows = `
	SELECT c.id AS coupon_id, 0 AS segment, c.stock, (
			SELECT COALESCE(SUM(t.units), 0) FROM coupon_transfers t
			WHERE t.coupon_id = c.id AND t.segment = 0 AND t.shard_key = c.id
		) AS counted, c.version
	FROM coupons c WHERE c.id IN (?)
	UNION ALL
	SELECT s.coupon_id, s.segment, s.stock, (
			SELECT COALESCE(SUM(t.units), 0) FROM coupon_transfers t
			WHERE t.coupon_id = s.coupon_id AND t.segment = s.segment AND t.shard_key = s.shard_key
		), s.version
	FROM coupon_segments s WHERE s.coupon_id IN (?)`

// Stock selects the stock and the version of a coupon, which is StockRows' argument, in all its segments and
// under way between them: no row, if there is no such coupon.
const Stock = `
	SELECT coupon_id, COUNT(*) AS segments, SUM(stock + counted) AS stock, SUM(version) AS version
	FROM (` + StockRows + `) r GROUP BY coupon_id`

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
		args = append(args, c.ID, segment, c.share(c.Stock, segment), ShardKey(c.ID, segment))
	}
	const q = `INSERT INTO coupon_segments (coupon_id, segment, stock, shard_key) VALUES `
	_, err := conn.ExecContext(ctx, q+strings.Repeat(", (?, ?, ?, ?)", c.Segments-1)[2:], args...)
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
