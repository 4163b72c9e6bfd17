package connect

import (
	"context"
	"database/sql/driver"
	"strings"
	"sync/atomic"
)

// A Server is what the connections of a pool have found out about theirs. Before the first
// connection nothing is known.
type Server struct{ sharded atomic.Bool }

// Sharded reports whether the server is vtgate, which sends each row to a shard.
func (s *Server) Sharded() bool { return s.sharded.Load() }

// Detect makes s learn of the pool's server whenever the pool opens a connection. Vtgate
// then refuses a transaction of two shards, whose commit would not be atomic.
func Detect(s *Server) Option {
	return func(to *settings) { to.server = s }
}

// isVTGate reports whether a server of this version is vtgate: the default of its
// --mysql-server-version ends like that.
func isVTGate(version string) bool { return strings.HasSuffix(version, "-Vitess") }

// prepareSharded gives a connection to vtgate what differs there. It adds the limit of
// sql_select_limit to each SELECT as a clause, and refuses GET_LOCK in a SELECT that has one.
func (c *connector) prepareSharded(ctx context.Context, conn driver.ExecerContext) error {
	set := "SET sql_select_limit = 0"
	if c.cfg.server != nil {
		set += ", transaction_mode = 'single'"
	}
	_, err := conn.ExecContext(ctx, set, nil)
	return err
}
