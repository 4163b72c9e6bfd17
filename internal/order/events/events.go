// Package events tells other systems what has happened to orders. The transaction that
// changes orders writes a row to coupon_events, its outbox, so there is an event of what
// was committed and of nothing else. A Relay publishes the rows in a Redis stream.
package events

import (
	"fmt"
	"iter"

	"example.com/flashsale/internal/order"
	"example.com/flashsale/internal/transaction"
)

// An Outbox says whether the transactions of orders write events. They all do, or none.
type Outbox bool

// Insert is what Exec of the statement of an event tries.
const Insert = "insert event"

const columns = `coupon_id, created_at, body`

// Writes are what a claim writes in the table of events, without a row: see
// transaction.CheckWritable.
func (o Outbox) Writes() []string {
	if !o {
		return nil
	}
	return []string{
		`INSERT INTO coupon_events (` + columns + `) SELECT ` + columns + ` FROM coupon_events WHERE 1 = 0`,
	}
}

// Statement returns the INSERT of the event that the orders of a transaction have become
// of a state, or none if there is no outbox. On vtgate they are of one segment. It must follow
// the statement that has changed them. It writes nothing if the first of them is not where
// that statement has put it: a node of a cluster may have undone the transaction without an
// error, and would commit this statement alone.
//
// The body of an event is JSON. An order is in it with its id, its coupon, its user and
// its number:
//
//	{"v":1,"kind":"claimed","orders":[["7687453","12","42",1]]}
func (o Outbox) Statement(became order.State, orders iter.Seq[order.Order]) transaction.Statement {
	if !o {
		return transaction.Statement{}
	}
	var first order.Order
	body, separator := fmt.Appendf(nil, `{"v":1,"kind":"%s","orders":[`, became), ""
	for one := range orders {
		if separator == "" {
			first = one
		}
		body = fmt.Appendf(body, `%s["%d","%d","%d",%d]`, separator, one.ID, one.CouponID, one.UserID, one.Number)
		separator = ","
	}
	column, key := first.Shard()
	q := `INSERT INTO coupon_events (` + columns + `) SELECT ` + column + `, UTC_TIMESTAMP(3), ? FROM ` +
		tableOf(became) + ` WHERE id = ? AND ` + column + ` = ?`
	return transaction.Statement{SQL: q, Args: []any{string(append(body, "]}"...)), first.ID, key}}
}

// tableOf returns the table of the orders in a state.
func tableOf(s order.State) string {
	if s == order.Returned || s == order.Expired {
		return "coupon_orders_ended"
	}
	return "coupon_orders"
}
