// Package connect opens the pools to MySQL and Redis, in one way for the
// service, the tests and the lab. Opening does not connect: a server that is
// away makes the calls fail, not the start.
package connect

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jmoiron/sqlx"
)

// MySQL opens a pool of at most conns connections, all of which may stay idle:
// database/sql keeps two by default, and a burst would spend itself dialling.
//
// Whatever dsn says, times are UTC, arguments are interpolated (one round trip
// for each statement instead of two) and transactions read committed rows: the
// claim's guards are conditional writes and unique keys, which need no
// snapshot, and gap locks on the unique key would only add deadlocks. Rows that
// a statement leaves as they were are not counted as affected.
//
// An error never quotes dsn, which may hold a password.
func MySQL(dsn string, conns int, options ...Option) (*sqlx.DB, error) {
	cfg, err := mysql.ParseDSN(dsn)
	if err != nil {
		return nil, errors.New("not a MySQL DSN (user:password@tcp(host:3306)/database)")
	}
	if cfg.DBName == "" {
		return nil, errors.New("the MySQL DSN names no database")
	}
	cfg.ParseTime, cfg.Loc, cfg.InterpolateParams = true, time.UTC, true
	cfg.ClientFoundRows, cfg.MultiStatements = false, false
	if cfg.Params == nil {
		cfg.Params = map[string]string{}
	}
	cfg.Params["time_zone"] = "'+00:00'"
	for _, option := range options {
		option(cfg)
	}
	cfg.Logger = &mysql.NopLogger{} // every error it would print is returned as well
	if cfg.Timeout == 0 {
		cfg.Timeout = 2 * time.Second
	}
	dialer, err := mysql.NewConnector(cfg)
	if err != nil {
		return nil, fmt.Errorf("MySQL: %w", err)
	}
	db := sqlx.NewDb(sql.OpenDB(readCommitted{dialer}), "mysql")
	db.SetMaxOpenConns(conns)
	db.SetMaxIdleConns(conns)
	db.SetConnMaxLifetime(3 * time.Minute) // below the five minutes after which middle boxes drop idle ones
	return db, nil
}

// An Option changes what MySQL opens.
type Option func(*mysql.Config)

// ManyStatements lets several statements travel together. It is for the pool of
// those who need it: elsewhere it would make an injection worse.
func ManyStatements(c *mysql.Config) { c.MultiStatements = true }

// readCommitted sets each new connection's isolation by statement: the
// variable that would do it in the DSN has different names in MySQL and in
// MariaDB 10.
type readCommitted struct{ driver.Connector }

func (c readCommitted) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	const q = "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED"
	if _, err := conn.(driver.ExecerContext).ExecContext(ctx, q, nil); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}
