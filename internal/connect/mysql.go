// Package connect opens pools to MySQL and Redis, in the same way for the
// service, the tests and the lab. Opening a pool does not connect: if a server
// is unavailable, calls fail, not the start.
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

// MySQL opens a pool of at most conns connections. All of them may stay idle:
// database/sql keeps two by default, and a burst would spend its time dialling.
//
// It overrides these settings of dsn:
//   - times are UTC;
//   - arguments are interpolated: one round trip per statement instead of two;
//   - transactions read committed rows. The claim is guarded by conditional
//     updates and a unique key, which need no snapshot, and gap locks on the
//     unique key would only add deadlocks;
//   - rows that a statement leaves unchanged do not count as affected.
//
// An error does not quote dsn, which may hold a password.
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
	cfg.Logger = &mysql.NopLogger{} // it would print errors that are also returned
	if cfg.Timeout == 0 {
		cfg.Timeout = 2 * time.Second
	}
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		return nil, fmt.Errorf("MySQL: %w", err)
	}
	db := sqlx.NewDb(sql.OpenDB(readCommitted{connector}), "mysql")
	db.SetMaxOpenConns(conns)
	db.SetMaxIdleConns(conns)
	db.SetConnMaxLifetime(3 * time.Minute) // middleboxes drop idle connections after five
	return db, nil
}

// An Option changes the configuration of a MySQL pool.
type Option func(*mysql.Config)

// MultiStatements lets one call send several statements. It is for a separate
// pool: in any other it would make an SQL injection worse.
func MultiStatements(c *mysql.Config) { c.MultiStatements = true }

// readCommitted is a connector that sets the isolation level of each new
// connection by a statement: the variable that the DSN could set is named
// differently in MySQL and in MariaDB 10.
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
