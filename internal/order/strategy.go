package order

import (
	"context"
	"errors"
	"fmt"
)

// Strategy names a way to commit orders.
type Strategy string

// PerClaim, Optimistic, Pessimistic and Unguarded run one transaction per
// claim. They guard the stock by a conditional update, by the row's version, by
// the row's lock, and not at all. Unguarded oversells; it is for the lab.
//
// GroupCommit commits concurrent claims in shared transactions.
const (
	PerClaim    Strategy = "each"
	Optimistic  Strategy = "optimistic"
	Pessimistic Strategy = "pessimistic"
	GroupCommit Strategy = "grouped"
	Unguarded   Strategy = "each_unguarded"
)

// A committer implements a Strategy.
type committer interface {
	// Commit returns nil once o, which takes a unit of s, is durable. Its errors
	// are coupon.ErrSoldOut if s is empty, *AlreadyClaimedError, errIDTaken, or
	// any other if the outcome is unknown or nothing was committed.
	Commit(ctx context.Context, s segment, o Order) error
	// Close returns when no transaction is running.
	Close()
}

// errIDTaken says that another order has the id.
var errIDTaken = errors.New("id taken")

func newCommitter(c Config) (committer, error) {
	switch c.Strategy {
	case PerClaim:
		return newPerClaim(c, decrementConditionally), nil
	case Optimistic:
		return newPerClaim(c, decrementOptimistically), nil
	case Pessimistic:
		return newPerClaim(c, decrementPessimistically), nil
	case Unguarded:
		return newPerClaim(c, decrementUnguarded), nil
	case GroupCommit:
		if c.BatchDB == nil {
			return nil, errors.New("order: GroupCommit needs a BatchDB")
		}
		return newGroupCommit(c), nil
	default:
		return nil, fmt.Errorf("order: unknown commit strategy %q", c.Strategy)
	}
}
