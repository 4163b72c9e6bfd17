package connect

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"strings"
	"sync/atomic"
)

// A Server is what the connections of a pool have found out about theirs. Before the first
// connection nothing is known: it is taken for a member of a cluster.
type Server struct{ standalone, sharded atomic.Bool }

// Standalone reports whether the server is outside of any Galera cluster or MySQL
// replication group. In those, another member's transaction may abort one of this server
// at any time.
func (s *Server) Standalone() bool { return s.standalone.Load() }

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
	if c.server != nil {
		set += ", transaction_mode = 'single'"
	}
	_, err := conn.ExecContext(ctx, set, nil)
	return err
}

// detect stores whether conn's server is standalone. A server that does not
// tell is taken for a member of a cluster.
func (c *connector) detect(ctx context.Context, conn driver.QueryerContext) error {
	const q = `SHOW VARIABLES WHERE Variable_name IN ('wsrep_on', 'group_replication_group_name') AND Value NOT IN ('', 'OFF')`
	rows, err := conn.QueryContext(ctx, q, nil)
	if err != nil {
		c.server.standalone.Store(false)
		if isRefused(err) {
			return nil
		}
		return err
	}
	err = rows.Next(make([]driver.Value, len(rows.Columns())))
	c.server.standalone.Store(errors.Is(err, io.EOF))
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return errors.Join(err, rows.Close())
}
