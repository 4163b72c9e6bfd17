package connect

import (
	"context"
	"database/sql/driver"

	"example.com/flashsale/internal/transaction"
)

// A Conn is what the driver's connections implement and package sql uses.
type Conn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.NamedValueChecker
	driver.Pinger
	driver.QueryerContext
	driver.SessionResetter
	driver.Validator
}

// A connection leaves its pool when the server has refused it what another connection may do: the
// rights to a database and the format of the binary log remain those with which it began,
// also after an administrator has mended them. So it does after Account.Renew.
type connection struct {
	Conn
	refused  bool
	account  *Account
	renewals int64 // of the account, before it was opened
}

func (c *connection) note(err error) {
	c.refused = c.refused || transaction.HasNumber(err, transaction.DatabaseDenied, transaction.TableDenied,
		transaction.ColumnDenied, transaction.PrivilegeDenied, transaction.StatementLog)
}

// ExecContext implements driver.ExecerContext.
func (c *connection) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	result, err := c.Conn.ExecContext(ctx, query, args)
	c.note(err)
	return result, err
}

// QueryContext implements driver.QueryerContext.
func (c *connection) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	rows, err := c.Conn.QueryContext(ctx, query, args)
	c.note(err)
	return rows, err
}

// IsValid implements driver.Validator.
func (c *connection) IsValid() bool {
	return !c.refused && c.renewals == c.account.renewals() && c.Conn.IsValid()
}

// ResetSession implements driver.SessionResetter.
func (c *connection) ResetSession(ctx context.Context) error {
	if !c.IsValid() {
		return driver.ErrBadConn
	}
	return c.Conn.ResetSession(ctx)
}
