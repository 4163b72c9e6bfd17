package labroutes

import (
	"context"
	"database/sql/driver"
	"fmt"
	"time"

	"example.com/flashsale/internal/connect"
)

// Record returns a connection whose statements are recorded for the sections of named claims,
// without their arguments.
func Record(c connect.Conn) connect.Conn { return recordedConn{c} }

type recordedConn struct{ connect.Conn }

func (c recordedConn) ExecContext(ctx context.Context, q string, args []driver.NamedValue) (driver.Result, error) {
	begin := time.Now()
	result, err := c.Conn.ExecContext(ctx, q, args)
	changed := ""
	if err == nil {
		n, _ := result.RowsAffected() // the driver has the number
		changed = fmt.Sprint(n)
	}
	record(ctx, q, begin, changed, err)
	return result, err
}

func (c recordedConn) QueryContext(ctx context.Context, q string, args []driver.NamedValue) (driver.Rows, error) {
	begin := time.Now()
	rows, err := c.Conn.QueryContext(ctx, q, args)
	if err != nil {
		record(ctx, q, begin, "", err)
		return nil, err
	}
	return &recordedRows{Rows: rows, read: func(first string) { record(ctx, q, begin, first, nil) }}, nil
}

// recordedRows calls read once, with the first value of the first row.
type recordedRows struct {
	driver.Rows
	read func(first string)
}

func (r *recordedRows) Next(row []driver.Value) error {
	err := r.Rows.Next(row)
	if r.read != nil {
		first := ""
		if err == nil && len(row) > 0 {
			first = text(row[0])
		}
		r.read(first)
		r.read = nil
	}
	return err
}

// text returns a value as a client of MySQL would print it.
func text(v driver.Value) string {
	if b, ok := v.([]byte); ok {
		return string(b)
	}
	return fmt.Sprint(v)
}
