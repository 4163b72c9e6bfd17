package connect

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"time"
)

// A Statement is a statement that a pool has executed, without its arguments.
type Statement struct {
	SQL        string
	Begin, End time.Time
	// Result is the first value of a query's first row, empty without a row. Of
	// any other statement it is the number of rows that it has affected.
	Result string
	Err    error
}

// Observe calls executed after each statement of the pool, with the statement's
// context, by several goroutines at once. It is for the lab.
func Observe(executed func(context.Context, Statement)) Option {
	return func(s *settings) {
		open := s.open
		s.open = func(c driver.Connector) *sql.DB { return open(observedConnector{c, executed}) }
	}
}

type observedConnector struct {
	driver.Connector
	executed func(context.Context, Statement)
}

func (c observedConnector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return observedConn{conn.(mysqlConn), c.executed}, nil
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

type observedConn struct {
	mysqlConn
	executed func(context.Context, Statement)
}

func (c observedConn) ExecContext(ctx context.Context, q string, args []driver.NamedValue) (driver.Result, error) {
	begin := time.Now()
	result, err := c.mysqlConn.ExecContext(ctx, q, args)
	s := Statement{SQL: q, Begin: begin, End: time.Now(), Err: err}
	if err == nil {
		n, _ := result.RowsAffected() // the driver has the number
		s.Result = fmt.Sprint(n)
	}
	c.executed(ctx, s)
	return result, err
}

func (c observedConn) QueryContext(ctx context.Context, q string, args []driver.NamedValue) (driver.Rows, error) {
	begin := time.Now()
	rows, err := c.mysqlConn.QueryContext(ctx, q, args)
	s := Statement{SQL: q, Begin: begin, End: time.Now(), Err: err}
	if err != nil {
		c.executed(ctx, s)
		return nil, err
	}
	return &observedRows{Rows: rows, executed: func(result string) {
		s.Result = result
		c.executed(ctx, s)
	}}, nil
}

// observedRows calls executed with the first value, once.
type observedRows struct {
	driver.Rows
	executed func(result string)
}

func (r *observedRows) Next(row []driver.Value) error {
	err := r.Rows.Next(row)
	if r.executed != nil {
		result := ""
		if err == nil && len(row) > 0 {
			result = text(row[0])
		}
		r.executed(result)
		r.executed = nil
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
