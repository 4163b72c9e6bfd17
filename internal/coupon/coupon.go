// Package coupon holds what is on sale: each coupon's window and stock. Which
// users get one is decided by package order.
package coupon

import (
	"errors"
	"fmt"
	"time"
)

// The verdicts on a coupon.
var (
	ErrNotFound   = errors.New("coupon: not found")
	ErrNotStarted = errors.New("coupon: not started")
	ErrEnded      = errors.New("coupon: ended")
	ErrSoldOut    = errors.New("coupon: sold out")
	ErrStockLimit = errors.New("coupon: stock limit")
	ErrInvalid    = errors.New("coupon: invalid")
	ErrNoRules    = errors.New("coupon: rules are not allowed yet")
	ErrIDTaken    = errors.New("coupon: id taken")
)

// MaxStock bounds a coupon's initial stock.
const MaxStock = 1_000_000_000

// A Coupon is on sale from BeginTime to EndTime, both included.
type Coupon struct {
	ID           int64     `db:"id"`
	Name         string    `db:"name"`
	BeginTime    time.Time `db:"begin_time"` // all times are in UTC, to the millisecond
	EndTime      time.Time `db:"end_time"`
	InitialStock int       `db:"initial_stock"` // all units ever put on sale
	Stock        int       `db:"stock"`         // units left, in all segments
	Segments     int       `db:"segments"`      // rows that hold the stock: see Split
	CreatedAt    time.Time `db:"created_at"`
	Revision     int64     `db:"revision"` // id of the latest change; 0 if none is recorded
	Version      int64     `db:"version"`  // rises whenever units come back or are put on sale
	Rules
}

// NotStartedError is ErrNotStarted with the time at which the window begins.
type NotStartedError struct{ BeginTime time.Time }

func (e *NotStartedError) Error() string {
	return fmt.Sprintf("%v before %s", ErrNotStarted, e.BeginTime.Format(time.RFC3339))
}

// Is reports whether target is ErrNotStarted.
func (e *NotStartedError) Is(target error) bool { return target == ErrNotStarted }

// InvalidError is ErrInvalid with the JSON name of the invalid field.
type InvalidError struct{ Field, Message string }

func (e *InvalidError) Error() string {
	return fmt.Sprintf("%v: %s %s", ErrInvalid, e.Field, e.Message)
}

// Is reports whether target is ErrInvalid.
func (e *InvalidError) Is(target error) bool { return target == ErrInvalid }

// New returns a coupon, or an *InvalidError for the first invalid field. It
// removes spaces around the name, and truncates the times to milliseconds, the
// precision of the table.
func New(id int64, name string, begin, end time.Time, stock int, now time.Time) (Coupon, error) {
	c, err := Coupon{
		ID: id, InitialStock: stock, Stock: stock, Segments: 1, CreatedAt: now.UTC().Truncate(time.Millisecond),
		Rules: defaultRules,
	}.with(Update{&name, &begin, &end})
	if err != nil {
		return Coupon{}, err
	}
	if stock < 0 || stock > MaxStock {
		return Coupon{}, &InvalidError{"stock", fmt.Sprintf("must be 0 to %d", MaxStock)}
	}
	return c, nil
}

// CheckOpen returns nil if c can be claimed at now, or else a *NotStartedError,
// ErrEnded or ErrSoldOut. Nil is no promise: this copy of the stock may be old,
// and the order's transaction decides.
func (c Coupon) CheckOpen(now time.Time) error {
	switch {
	case now.Before(c.BeginTime):
		return &NotStartedError{BeginTime: c.BeginTime}
	case now.After(c.EndTime):
		return ErrEnded
	case c.Stock < 1:
		return ErrSoldOut
	}
	return nil
}
