package order_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/jmoiron/sqlx"

	"example.com/flashsale/internal/order"
)

// A replyLoser is a connector whose connections lose the reply to every commit,
// which they execute if commits is true and roll back otherwise.
type replyLoser struct {
	driver.Connector
	commits bool
}

func (r replyLoser) Connect(ctx context.Context) (driver.Conn, error) {
	c, err := r.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return replyLoserConn{c.(mysqlConn), r.commits}, nil
}

// mysqlConn is the part of the driver's connection that database/sql uses here.
type mysqlConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ExecerContext
	driver.QueryerContext
	driver.NamedValueChecker
}

type replyLoserConn struct {
	mysqlConn
	commits bool
}

func (c replyLoserConn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	tx, err := c.mysqlConn.BeginTx(ctx, opts)
	return replyLoserTx{tx, c.commits}, err
}

// ExecContext treats a transaction in a single round trip as a commit.
func (c replyLoserConn) ExecContext(ctx context.Context, q string, args []driver.NamedValue) (driver.Result, error) {
	if !isSingleRoundTrip(q) {
		return c.mysqlConn.ExecContext(ctx, q, args)
	}
	if c.commits {
		if _, err := c.mysqlConn.ExecContext(ctx, q, args); err != nil {
			return nil, err
		}
	}
	return nil, mysql.ErrInvalidConn
}

func isSingleRoundTrip(q string) bool { return strings.HasPrefix(q, "START TRANSACTION;") }

type replyLoserTx struct {
	driver.Tx
	commits bool
}

func (t replyLoserTx) Commit() error {
	end := t.Tx.Rollback
	if t.commits {
		end = t.Tx.Commit
	}
	return errors.Join(end(), mysql.ErrInvalidConn)
}

// A commit that was executed is a success although its reply was lost. One that
// was not is ErrUnavailable, and the user can claim again.
func TestCommitWithLostReplyIsReadBack(t *testing.T) {
	t.Parallel()
	for _, strategy := range strategies {
		for name, test := range map[string]struct {
			commits bool
			want    error
			orders  int
		}{
			"committed":   {true, nil, 1},
			"rolled back": {false, order.ErrUnavailable, 0},
		} {
			t.Run(string(strategy)+", "+name, func(t *testing.T) {
				t.Parallel()
				s := newSale(t)
				id := s.coupon(1, 5)
				db := openThrough(t, s.dsn, func(c driver.Connector) driver.Connector { return replyLoser{c, test.commits} })
				claims := s.instance(withStrategy(strategy), func(c *order.Config) { c.DB, c.BatchDB = db, db })
				if _, err := claims.Claim(t.Context(), 42, id); !errors.Is(err, test.want) || (err == nil) != (test.want == nil) {
					t.Errorf("claim: %v, want %v", err, test.want)
				}
				if a := s.audit(id); a.Orders != test.orders || a.Stock != 5-test.orders {
					t.Errorf("audit %+v, want %d orders", a, test.orders)
				}
				if _, err := s.instance(withStrategy(strategy)).Claim(t.Context(), 42, id); (err == nil) != (test.orders == 0) {
					t.Errorf("the next claim: %v", err)
				}
			})
		}
	}
}

// A lateServer is a connector that loses the connection when it receives a
// single round trip, and executes it when the client begins its next
// transaction.
type lateServer struct {
	driver.Connector
	execute *func() error
}

func (l lateServer) Connect(ctx context.Context) (driver.Conn, error) {
	c, err := l.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return lateConn{c.(mysqlConn), l.execute}, nil
}

type lateConn struct {
	mysqlConn
	execute *func() error
}

func (c lateConn) ExecContext(ctx context.Context, q string, args []driver.NamedValue) (driver.Result, error) {
	if !isSingleRoundTrip(q) {
		return c.mysqlConn.ExecContext(ctx, q, args)
	}
	*c.execute = sync.OnceValue(func() error {
		_, err := c.mysqlConn.ExecContext(context.Background(), q, args)
		return err
	})
	return nil, mysql.ErrInvalidConn
}

func (c lateConn) Close() error { return nil } // the server has not noticed the loss

func (c lateConn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	if err := (*c.execute)(); err != nil {
		return nil, err
	}
	return c.mysqlConn.BeginTx(ctx, opts)
}

// The read back finds nothing, but the batch must not be tried again: the server
// may still execute it, and would decrement the stock twice.
func TestBatchExecutedLateDecrementsTheStockOnce(t *testing.T) {
	t.Parallel()
	s := newSale(t)
	id := s.coupon(1, 5)
	var execute func() error
	db := openThrough(t, s.dsn, func(c driver.Connector) driver.Connector { return lateServer{c, &execute} })
	claims := s.instance(func(c *order.Config) { c.DB, c.BatchDB = db, db })
	if _, err := claims.Claim(t.Context(), 42, id); !errors.Is(err, order.ErrUnavailable) {
		t.Errorf("claim: %v, want ErrUnavailable", err)
	}
	if err := execute(); err != nil {
		t.Fatal(err)
	}
	if a := s.audit(id); a.Orders != 1 || a.Stock != 4 {
		t.Errorf("audit %+v, want one order and a stock of 4", a)
	}
}

// openThrough opens a pool whose connector is wrapped by wrap.
func openThrough(t *testing.T, dsn string, wrap func(driver.Connector) driver.Connector) *sqlx.DB {
	t.Helper()
	cfg, err := mysql.ParseDSN(dsn)
	if err != nil {
		t.Fatal(err)
	}
	cfg.ParseTime, cfg.InterpolateParams, cfg.MultiStatements = true, true, true
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		t.Fatal(err)
	}
	db := sqlx.NewDb(sql.OpenDB(wrap(connector)), "mysql")
	t.Cleanup(func() { _ = db.Close() })
	return db
}
