package order

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"math"
	"strings"

	"github.com/jmoiron/sqlx"

	"example.com/flashsale/internal/transaction"
)

// InsertColumns are the columns of table coupon_orders that a claim fills.
const InsertColumns = `id, coupon_id, user_id, number, created_at, expires_at, shard_key`

// HoldColumns are the columns of table coupon_holds. The value of the last is Order.Shard's.
const HoldColumns = `expires_at, order_id, coupon_id`

// Writes are what a claim writes in the tables of orders, without a row: see
// transaction.CheckWritable.
var Writes = []string{
	`INSERT INTO coupon_orders (` + InsertColumns + `) SELECT ` + InsertColumns + ` FROM coupon_orders WHERE 1 = 0`,
	`UPDATE coupon_orders SET id = id WHERE 1 = 0`,
	`DELETE FROM coupon_orders WHERE 1 = 0`,
	`INSERT INTO coupon_holds (` + HoldColumns + `) SELECT ` + HoldColumns + ` FROM coupon_holds WHERE 1 = 0`,
	`DELETE FROM coupon_holds WHERE 1 = 0`,
}

// DeleteStatement returns the DELETE of orders, at least one, on a condition. It looks each up
// by its id: a server that scanned a small table would wait for the orders of batches that
// wait for this one, a deadlock.
func DeleteStatement(orders iter.Seq[Order], condition string) transaction.Statement {
	var args, keys []any
	var column string
	for o := range orders {
		var key int64
		column, key = o.Shard()
		args, keys = append(args, o.ID), append(keys, key)
	}
	in := ` IN (?` + strings.Repeat(", ?", len(args)-1) + `)`
	q := `DELETE o FROM coupon_orders AS o FORCE INDEX (PRIMARY) WHERE o.id` + in + ` AND o.` + column + in + ` AND `
	return transaction.Statement{SQL: q + condition, Args: append(args, keys...)}
}

// Columns are the fields of an Order that counts.
const Columns = InsertColumns + `, used_at, used_by, used_ref, CAST(NULL AS DATETIME(3)) AS ended_at,
	CASE WHEN used_at IS NOT NULL THEN 'used' WHEN expires_at <= UTC_TIMESTAMP(3) THEN 'expired' ELSE 'claimed' END AS state`

// endedColumns are the fields of an Order in table coupon_orders_ended.
const endedColumns = `id, coupon_id, user_id, number, created_at, CAST(NULL AS DATETIME(3)) AS expires_at, shard_key,
	CAST(NULL AS DATETIME(3)) AS used_at, NULL AS used_by,
	NULL AS used_ref, ended_at, how AS state`

// A Store reads orders from MySQL.
type Store struct {
	db      *sqlx.DB
	sharded func() bool
}

// NewStore returns a Store that reads db's orders.
func NewStore(db *sqlx.DB) *Store { return &Store{db, func() bool { return false }} }

// Sharded returns a Store of the same orders, which known says are on several shards.
func (s *Store) Sharded(known func() bool) *Store { return &Store{s.db, known} }

// Find returns an order, which may have ended, or ErrNotFound.
func (s *Store) Find(ctx context.Context, id int64) (Order, error) {
	const q = `SELECT ` + Columns + ` FROM coupon_orders WHERE id = ?
		UNION ALL SELECT ` + endedColumns + ` FROM coupon_orders_ended WHERE id = ?`
	var o Order
	err := s.db.GetContext(ctx, &o, q, id, id)
	if errors.Is(err, sql.ErrNoRows) {
		return Order{}, ErrNotFound
	}
	if err != nil {
		return Order{}, fmt.Errorf("order %d: find: %w", id, err)
	}
	return o, nil
}

// ListByUser returns up to limit orders of a user whose ids are below before, those that
// have ended among them, newest first. If before is 0, it returns the newest.
func (s *Store) ListByUser(ctx context.Context, userID, before int64, limit int) ([]Order, error) {
	const condition = ` WHERE user_id = ? AND id < ? ORDER BY id DESC LIMIT ?`
	const q = `(SELECT ` + Columns + ` FROM coupon_orders` + condition + `)
		UNION ALL (SELECT ` + endedColumns + ` FROM coupon_orders_ended` + condition + `) ORDER BY id DESC LIMIT ?`
	if before == 0 {
		before = math.MaxInt64
	}
	orders := []Order{}
	if err := s.db.SelectContext(ctx, &orders, q, userID, before, limit, userID, before, limit, limit); err != nil {
		return nil, fmt.Errorf("user %d: list orders: %w", userID, err)
	}
	return orders, nil
}
