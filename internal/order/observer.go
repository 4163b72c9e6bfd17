package order

import (
	"errors"
	"time"

	"example.com/flashsale/internal/coupon"
)

// An Observer is told of what the verdicts on claims do not show. Its functions
// must be fast; several goroutines call them at once. Those that are nil are not
// called.
type Observer struct {
	Refused func(Gate)        // a claim was refused without a transaction
	Ended   func(Transaction) // a transaction of claims has ended
}

// A Gate is a precheck that refuses claims without a transaction.
type Gate string

const (
	GateWindow Gate = "window" // the sale has not started or has ended
	GateOrder  Gate = "order"  // the user's order is cached
	GateFilter Gate = "filter" // the coupon is sold out, and a filter proves that the user has no order
	GateLookup Gate = "lookup" // the coupon is sold out, and a query shared with others has looked for the user's order
)

// A Transaction is one attempt to commit claims, with its retries.
type Transaction struct {
	Claims int // that shared it
	Orders int // that are committed
	Took   time.Duration
	Err    error // nil if the verdicts on all claims are final
}

func (o *Observer) setDefaults() {
	if o.Refused == nil {
		o.Refused = func(Gate) {}
	}
	if o.Ended == nil {
		o.Ended = func(Transaction) {}
	}
}

// single returns the Transaction of one claim that began at start and ended
// with err, which may be a verdict.
func single(start time.Time, err error) Transaction {
	t := Transaction{Claims: 1, Took: time.Since(start)}
	switch {
	case err == nil:
		t.Orders = 1
	case !errors.Is(err, coupon.ErrSoldOut) && !errors.Is(err, ErrAlreadyClaimed):
		t.Err = err
	}
	return t
}
