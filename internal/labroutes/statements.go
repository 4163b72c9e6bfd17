package labroutes

import (
	"context"
	"database/sql/driver"
	"fmt"
	"time"
)

// Recorded returns c, but the statements of its connections are recorded for the
// sections of named claims, without their arguments. The connections must be those of
// the driver for MySQL.
func Recorded(c driver.Connector) driver.Connector { return recordedConnector{c} }

type recordedConnector struct{ driver.Connector }

func (c recordedConnector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return recordedConn{conn.(mysqlConn)}, nil
}

// mysqlConn is what database/sql looks for in a connection, and the driver's have.
type mysqlConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
	driver.NamedValueChecker
	driver.Pinger
	driver.SessionResetter
	driver.Validator
}

type recordedConn struct{ mysqlConn }

func (c recordedConn) ExecContext(ctx context.Context, q string, args []driver.NamedValue) (driver.Result, error) {
	begin := time.Now()
	result, err := c.mysqlConn.ExecContext(ctx, q, args)
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
	rows, err := c.mysqlConn.QueryContext(ctx, q, args)
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
