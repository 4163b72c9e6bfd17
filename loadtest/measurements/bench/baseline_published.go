package bench

import (
	"context"
	"database/sql"
	"errors"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-sql-driver/mysql"
)

// commitInOneRequest is AliSQL's inventory hint, COMMIT_ON_SUCCESS ROLLBACK_ON_FAIL
// TARGET_AFFECT_ROW(1), as plain SQL: the hot row is locked by the last statement of a
// request that ends with COMMIT, and a stock that is used up is an error, after which
// the server does not reach it.
// https://www.alibabacloud.com/help/en/rds/apsaradb-rds-for-mysql/inventory-hint
func (b *baseline) commitInOneRequest(ctx context.Context, id, userID, couponID int64) error {
	conn, err := b.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	const q = `START TRANSACTION;
		INSERT INTO coupon_orders (id, coupon_id, user_id, created_at) VALUES (?, ?, ?, ?);
		UPDATE coupons SET stock = stock - 1 / (stock > 0) WHERE id = ?;
		COMMIT`
	_, err = conn.ExecContext(ctx, q, id, couponID, userID, time.Now().UTC(), couponID)
	if err == nil {
		return nil
	}
	_, rollback := conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
	const divisionByZero = 1365
	if refused, ok := errors.AsType[*mysql.MySQLError](err); ok && refused.Number == divisionByZero {
		return errors.Join(errSoldOut, rollback)
	}
	return errors.Join(err, rollback)
}

// poolSize is how many rows a coupon has at most, of one unit each.
const poolSize = 1000

// A unitPool counts how often a coupon's rows were filled up.
type unitPool struct {
	mu     sync.Mutex // held to fill up
	refill atomic.Int64
}

// commitUnit is Shopify's way: a row for each unit of a pool, of which a claim takes
// any that no other has locked, so that no claim waits for another one. When no row
// is left, the next thousand units become rows.
// https://shopify.engineering/scaling-inventory-reservations
func (b *baseline) commitUnit(ctx context.Context, id, userID, couponID int64) error {
	stored, _ := b.pools.LoadOrStore(couponID, &unitPool{})
	pool := stored.(*unitPool)
	for {
		seen := pool.refill.Load()
		if err := b.takeUnit(ctx, id, userID, couponID); !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		if err := b.fillUp(ctx, couponID, pool, seen); err != nil {
			return err
		}
	}
}

func (b *baseline) takeUnit(ctx context.Context, id, userID, couponID int64) error {
	tx, err := b.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if err := insertOrder(ctx, tx, id, userID, couponID); err != nil {
		return err
	}
	const take = `SELECT segment FROM coupon_segments WHERE coupon_id = ?
		ORDER BY segment LIMIT 1 FOR UPDATE SKIP LOCKED`
	var unit int
	if err := tx.QueryRowContext(ctx, take, couponID).Scan(&unit); err != nil {
		return err
	}
	const sell = `DELETE FROM coupon_segments WHERE coupon_id = ? AND segment = ?`
	if _, err := tx.ExecContext(ctx, sell, couponID, unit); err != nil {
		return err
	}
	return tx.Commit()
}

// fillUp turns stock into rows, unless another claim has done so since the refill
// seen. It returns errSoldOut if no stock is left.
func (b *baseline) fillUp(ctx context.Context, couponID int64, pool *unitPool, seen int64) error {
	pool.mu.Lock()
	defer pool.mu.Unlock()
	if pool.refill.Load() != seen {
		return nil
	}
	tx, err := b.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if err := addUnits(ctx, tx, couponID, int(seen)); err != nil {
		return err
	}
	pool.refill.Add(1)
	return tx.Commit()
}

// addUnits uses the numbers of units that were sold 31 refills before.
func addUnits(ctx context.Context, tx *sql.Tx, couponID int64, refill int) error {
	var stock int
	err := tx.QueryRowContext(ctx, `SELECT stock FROM coupons WHERE id = ? FOR UPDATE`, couponID).Scan(&stock)
	n := min(stock, poolSize)
	switch {
	case err != nil:
		return err
	case n <= 0:
		return errSoldOut
	}
	if _, err := tx.ExecContext(ctx, `UPDATE coupons SET stock = stock - ? WHERE id = ?`, n, couponID); err != nil {
		return err
	}
	first := refill % (math.MaxInt16/poolSize - 1) * poolSize
	var args []any
	for unit := range n {
		args = append(args, couponID, first+unit+1, 1)
	}
	values := strings.Repeat(",(?,?,?)", n)[1:]
	_, err = tx.ExecContext(ctx, `INSERT INTO coupon_segments (coupon_id, segment, stock) VALUES `+values, args...)
	return err
}
