// Package connect opens pools to MySQL and Redis, in the same way for the
// service, the tests and the lab. Opening a pool does not connect: if a server
// is unavailable, calls fail, not the start.
package connect

import (
	"cmp"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jmoiron/sqlx"
)

// MySQL opens a pool of at most conns connections. All of them may stay idle:
// database/sql keeps two by default, and a burst would spend its time dialling.
//
// It overrides these settings of dsn:
//   - times are UTC, and are not truncated;
//   - arguments are interpolated: one round trip per statement instead of two;
//   - transactions read committed rows. The claim is guarded by conditional
//     updates and a unique key, which need no snapshot, and gap locks on the
//     unique key would only add deadlocks;
//   - rows that a statement leaves unchanged do not count as affected;
//   - a connection is looked at before it is used again, and the server alone limits
//     how long a statement is;
//   - a connection to a server that has become read-only is closed, so that the
//     pool reaches the new master as soon as the address leads to it.
//
// Every connection has the character set utf8mb4 and the session variables that the
// statements of the service need, whatever the server's defaults are: they are set, and
// read back. An error names the parameter of dsn that contradicts them: see checkParameters.
//
// The parameter timeout of dsn bounds the whole of opening a connection, not
// only dialling. It is 2 s by default.
//
// An error does not quote dsn, which may hold a password.
func MySQL(dsn string, conns int, options ...Option) (*sqlx.DB, error) {
	parsed, err := parseDSN(dsn)
	if err != nil {
		return nil, err
	}
	cfg := &settings{Config: parsed, open: sql.OpenDB, wrap: func(c Conn) Conn { return c }}
	for _, option := range options {
		option(cfg)
	}
	base, err := mysql.NewConnector(cfg.Config)
	if err != nil {
		return nil, fmt.Errorf("MySQL: %w", err)
	}
	c := &connector{Connector: base, cfg: cfg, conns: conns}
	db := sqlx.NewDb(cfg.open(c), "mysql")
	c.pool = db
	c.regrow = time.AfterFunc(time.Hour, c.grow)
	c.regrow.Stop()
	cfg.account.add(c)
	db.SetMaxOpenConns(conns)
	db.SetMaxIdleConns(conns)
	db.SetConnMaxLifetime(connLifetime)
	return db, nil
}

// connLifetime bounds how long a server that gives no new connection, or that its name leads to no
// more, is taken for available by who has an old one. Middleboxes drop idle ones after five minutes.
const connLifetime = 3 * time.Minute

// settings are what an Option may change.
type settings struct {
	*mysql.Config
	lockWait  string  // in seconds; empty: transactions are not limited
	shortIdle bool    // the server closes idle connections soon
	server    *Server // see Detect
	open      func(driver.Connector) *sql.DB
	wrap      func(Conn) Conn
	account   *Account // nil if the pool is alone
}

// OpenBy opens the pool by open instead of sql.OpenDB, for libraries that
// instrument a pool.
func OpenBy(open func(driver.Connector) *sql.DB) Option {
	return func(s *settings) { s.open = open }
}

// WrapBy makes each connection of the pool what wrap returns of it.
func WrapBy(wrap func(Conn) Conn) Option {
	return func(s *settings) { s.wrap = wrap }
}

// An Option changes the configuration of a MySQL pool.
type Option func(*settings)

// MultiStatements lets one call send several statements. It is for a separate
// pool: in any other it would make an SQL injection worse.
func MultiStatements(s *settings) { s.MultiStatements = true }

// ShortTransactions makes the server roll back a transaction that waits for its
// next statement for some seconds, and close the connection. Otherwise the row
// locks of a client whose host or network has failed remain until TCP on the
// server gives up, which takes hours by default.
//
// MariaDB has a timeout for idle transactions. MySQL has one for idle
// connections only, so there the pool closes its idle connections early.
//
// A statement waits for a row or a table for some seconds, too. The server does not
// notice that the client has closed the connection meanwhile: statements whose claims
// have given up would occupy its connections for 50 seconds, the default, and in MySQL
// for as long as a table is locked, up to a year, until it has none left.
func ShortTransactions(s *settings) { s.lockWait = "3" }

// BriefLockWaits is ShortTransactions with the shortest wait for a row or a table that
// MySQL has, one second. It is for transactions that others wait for.
func BriefLockWaits(s *settings) { s.lockWait = "1" }

// replyTimeout is the longest wait for a reply with ForMigrations.
const replyTimeout = 15 * time.Second

// ForMigrations bounds how long a lost connection holds up the migrations. Their
// library executes statements without a context, so the connection has the
// deadline: it is closed if a reply takes longer than 15 seconds, or than the
// parameter readTimeout of dsn. The server completes the statement nevertheless.
//
// The server closes the connection of a process whose host or network has failed
// when it has been idle for some seconds, and so releases its named locks. By
// default that takes hours, and no other process can migrate the database meanwhile.
//
// Errors of a read-only server reach the caller in the server's own words.
func ForMigrations(s *settings) {
	s.RejectReadOnly = false
	s.ReadTimeout = cmp.Or(s.ReadTimeout, replyTimeout)
	s.shortIdle = true
}

// ForProbes lets errors of a read-only server reach the caller in the server's own
// words, and bounds the wait for a table that is being altered: without a limit,
// the statement of each probe would wait there and occupy a connection.
func ForProbes(s *settings) {
	s.RejectReadOnly = false
	s.Params["lock_wait_timeout"] = "1"
}

// LongIdle keeps the server from closing a connection because it is idle: for a year, the
// most that it accepts.
func LongIdle(s *settings) { s.Params["wait_timeout"] = "31536000" }
