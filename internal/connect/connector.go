package connect

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jmoiron/sqlx"
)

// connector opens the connections of a pool.
type connector struct {
	driver.Connector
	cfg     *settings
	pool    *sqlx.DB
	conns   int          // of the pool, at most
	opening atomic.Int32 // calls of Connect
	making  sync.Mutex   // held by makeDo
	regrow  *time.Timer  // ends shrink
}

// errNotConnected is wrapped by every error of opening a connection: the server is unavailable,
// the account wrong, without a right, locked or at its limit, the database missing, TLS
// refused, the session another. An administrator may mend each, and nothing was sent.
var errNotConnected = errors.New("MySQL gives no connection")

// Connect bounds the handshake as well: database/sql opens connections for its
// waiters one after the other, without a deadline, and a server that accepts a
// connection and remains silent would stop it.
func (c *connector) Connect(ctx context.Context) (driver.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, c.cfg.Timeout)
	defer cancel()
	c.opening.Add(1)
	defer c.opening.Add(-1)
	conn, err := c.open(ctx)
	if isLimit(err) {
		conn, err = c.makeDo(ctx, err)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNotConnected, err)
	}
	return conn, nil
}

// open connects, and prepares the connection.
func (c *connector) open(ctx context.Context) (driver.Conn, error) {
	renewals := c.cfg.account.renewals()
	opened, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	if err := c.prepare(ctx, opened.(driver.ExecerContext)); err != nil {
		return nil, errors.Join(err, opened.Close())
	}
	return c.cfg.wrap(&connection{Conn: opened.(Conn), account: c.cfg.account, renewals: renewals}), nil
}

// prepare gives conn the session that the statements of the service need, whatever the
// server, its init_connect or the DSN made of it.
func (c *connector) prepare(ctx context.Context, conn driver.ExecerContext) error {
	err := setVariables(ctx, conn)
	var version string
	if err == nil {
		version, err = verifyVariables(ctx, conn.(driver.QueryerContext))
	}
	if err == nil && isVTGate(version) {
		err = c.prepareSharded(ctx, conn)
	}
	if err == nil && c.cfg.server != nil {
		c.cfg.server.sharded.Store(isVTGate(version))
	}
	switch {
	case err != nil:
		return err
	case c.cfg.lockWait != "":
		return c.limitTransactions(ctx, conn)
	case c.cfg.shortIdle:
		return c.limitIdle(ctx, conn)
	}
	return nil
}

// The server counts whole seconds. The pool closes idle connections well before
// the server does, so that no statement is sent on one that is being closed.
const (
	idleTransactionTimeout = "2"
	idleConnectionTimeout  = "4"
	poolIdleTime           = 2 * time.Second
)

// limitTransactions sets the best timeouts that the server has. A server or proxy
// that refuses them is used without.
func (c *connector) limitTransactions(ctx context.Context, conn driver.ExecerContext) error {
	waits := "SET SESSION innodb_lock_wait_timeout = " + c.cfg.lockWait + ", lock_wait_timeout = " + c.cfg.lockWait
	_, err := conn.ExecContext(ctx, waits, nil)
	if err != nil && !isRefused(err) {
		return err
	}
	_, err = conn.ExecContext(ctx, "SET SESSION idle_transaction_timeout = "+idleTransactionTimeout, nil)
	if !isRefused(err) {
		return err
	}
	return c.limitIdle(ctx, conn)
}

// limitIdle makes the server close the connection when it is idle. A server or
// proxy that refuses that is used without.
func (c *connector) limitIdle(ctx context.Context, conn driver.ExecerContext) error {
	_, err := conn.ExecContext(ctx, "SET SESSION wait_timeout = "+idleConnectionTimeout, nil)
	if isRefused(err) {
		return nil
	}
	c.pool.SetConnMaxIdleTime(poolIdleTime)
	return err
}

// isRefused reports whether the server has refused a statement.
func isRefused(err error) bool {
	_, ok := errors.AsType[*mysql.MySQLError](err)
	return ok
}
