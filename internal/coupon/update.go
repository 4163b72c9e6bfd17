package coupon

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jmoiron/sqlx"
)

// An Update changes the name and the window of a coupon. What is nil remains as it
// is.
type Update struct {
	Name               *string
	BeginTime, EndTime *time.Time
}

// Update changes a coupon for the administrator adminID, records the change, and
// returns the coupon afterwards. The error is ErrNotFound, or an *InvalidError for
// the first field of the coupon that would be invalid.
//
// The window may be any: a coupon whose end is past is on sale again if the end
// is moved, with the stock that is left and the orders that it has.
func (s *Store) Update(ctx context.Context, id int64, u Update, adminID int64) (Coupon, error) {
	return s.change(ctx, id, adminID, ActionUpdate, u, func(conn *sqlx.Conn, before Coupon) (Coupon, error) {
		const q = `UPDATE coupons SET name = ?, begin_time = ?, end_time = ? WHERE id = ?`
		after, err := before.with(u)
		if err == nil {
			_, err = conn.ExecContext(ctx, q, after.Name, after.BeginTime, after.EndTime, id)
		}
		return after, err
	})
}

// with returns c with what u changes, or an *InvalidError for the first field that
// is invalid.
func (c Coupon) with(u Update) (Coupon, error) {
	if u.Name != nil {
		if !validName(*u.Name) {
			return Coupon{}, &InvalidError{"name", fmt.Sprintf("must have 1 to %d characters, one of them visible "+
				"and none a control character or an override of the text's direction", MaxName)}
		}
		c.Name = strings.TrimSpace(*u.Name)
	}
	err := setTime(&c.BeginTime, "begin_time", u.BeginTime)
	if err == nil {
		err = setTime(&c.EndTime, "end_time", u.EndTime)
	}
	if err == nil && !c.EndTime.After(c.BeginTime) {
		err = &InvalidError{"end_time", "must be after begin_time"}
	}
	return c, err
}

// setTime sets the field to t, to the millisecond, if t is not nil.
func setTime(field *time.Time, name string, t *time.Time) error {
	switch {
	case t == nil:
		return nil
	case !validTime(*t):
		return &InvalidError{name, "must be in the years 2000 to 9999"}
	}
	*field = t.UTC().Truncate(time.Millisecond)
	return nil
}

// validTime reports whether t is in the years 2000 to 9999. The first is the year
// of t's own time zone, in which the client wrote it. The last is in UTC, which
// the table holds.
func validTime(t time.Time) bool { return t.Year() >= 2000 && t.UTC().Year() <= 9999 }
