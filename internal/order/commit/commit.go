// Package commit writes orders: an order is durable, with a unit of stock, or
// refused, or its outcome is unknown. The rows of the database decide, in
// transactions; a commit whose reply was lost is read back.
package commit

import (
	"errors"
	"fmt"
	"time"

	"github.com/jmoiron/sqlx"

	"example.com/flashsale/internal/coupon"
	"example.com/flashsale/internal/observe/tracing"
	"example.com/flashsale/internal/order"
	"example.com/flashsale/internal/order/events"
)

// Strategy names a way to commit orders.
type Strategy string

// PerClaim, Optimistic, Pessimistic and Unguarded run one transaction per order.
// They guard the stock by a conditional update, by the row's version, by the row's
// lock, and not at all. Unguarded oversells; it is for the lab.
//
// GroupCommit commits concurrent orders in shared transactions.
const (
	PerClaim    Strategy = "each"
	Optimistic  Strategy = "optimistic"
	Pessimistic Strategy = "pessimistic"
	GroupCommit Strategy = "grouped"
	Unguarded   Strategy = "each_unguarded"
)

// Strategies lists the strategies that keep every promise.
var Strategies = []Strategy{PerClaim, Optimistic, Pessimistic, GroupCommit}

// Config holds what a strategy needs.
type Config struct {
	DB *sqlx.DB // opened with connect.ShortTransactions
	// BatchDB is the same database, opened with connect.BriefLockWaits and
	// connect.MultiStatements. Only GroupCommit needs it.
	BatchDB *sqlx.DB
	// Sharded reports whether the database has segments on several shards, which must be known
	// before the first order. The transactions of GroupCommit then have orders of one segment
	// each, and transfers between segments are two transactions. Without it, it has not.
	Sharded func() bool
	Outbox  events.Outbox
	// Counted makes the strategies of one transaction per order count the user's orders and
	// choose the number. It is for the lab.
	Counted bool
	Ended   func(Transaction) // optional; called at the end of each transaction, by several goroutines at once
	Tracer  tracing.Tracer
}

// New returns an order.Committer that commits by a strategy. The error says that
// there is no such strategy.
func New(strategy Strategy, c Config) (order.Committer, error) {
	c.setDefaults()
	switch strategy {
	case PerClaim:
		return newPerClaim(c, decrementConditionally), nil
	case Optimistic:
		return newPerClaim(c, decrementOptimistically), nil
	case Pessimistic:
		return newPerClaim(c, decrementPessimistically), nil
	case Unguarded:
		return newPerClaim(c, decrementUnguarded), nil
	case GroupCommit:
		return newGroupCommit(c), nil
	default:
		return nil, fmt.Errorf("commit: unknown strategy %q", strategy)
	}
}

func (c *Config) setDefaults() {
	if c.Sharded == nil {
		c.Sharded = func() bool { return false }
	}
	if c.Ended == nil {
		c.Ended = func(Transaction) {}
	}
}

// connections returns how many connections of DB may be open at a time.
func (c *Config) connections() int {
	if n := c.DB.Stats().MaxOpenConnections; n > 0 {
		return n
	}
	return order.MaxRunning
}

// A Transaction is one attempt to commit the orders of claims, with its retries.
type Transaction struct {
	Claims int // that shared it
	Orders int // that are committed
	Took   time.Duration
	Err    error // nil if the verdicts on all claims are final
}

// single returns the Transaction of one claim that began at start and ended
// with err, which may be a verdict.
func single(start time.Time, err error) Transaction {
	t := Transaction{Claims: 1, Took: time.Since(start)}
	switch {
	case err == nil:
		t.Orders = 1
	case !errors.Is(err, coupon.ErrSoldOut) && !errors.Is(err, order.ErrAlreadyClaimed):
		t.Err = err
	}
	return t
}
