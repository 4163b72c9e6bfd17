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

	"example.com/flashsale/internal/idgen"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/order"
)

// An unanswering database makes a commit or does not, and then loses the
// connection before the answer is there.
type unanswering struct {
	driver.Connector
	makes bool
}

func (u unanswering) Connect(ctx context.Context) (driver.Conn, error) {
	c, err := u.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return conn{c.(mysqlConn), u.makes}, nil
}

// mysqlConn is what the driver's connection can do for database/sql.
type mysqlConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ExecerContext
	driver.QueryerContext
	driver.NamedValueChecker
}

type conn struct {
	mysqlConn
	makes bool
}

func (c conn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	t, err := c.mysqlConn.BeginTx(ctx, opts)
	return tx{t, c.makes}, err
}

// ExecContext knows the whole transaction that travels at once.
func (c conn) ExecContext(ctx context.Context, q string, args []driver.NamedValue) (driver.Result, error) {
	if !strings.HasPrefix(q, "START TRANSACTION;") {
		return c.mysqlConn.ExecContext(ctx, q, args)
	}
	if c.makes {
		if _, err := c.mysqlConn.ExecContext(ctx, q, args); err != nil {
			return nil, err
		}
	}
	return nil, mysql.ErrInvalidConn
}

type tx struct {
	driver.Tx
	makes bool
}

func (t tx) Commit() error {
	end := t.Tx.Rollback
	if t.makes {
		end = t.Tx.Commit
	}
	return errors.Join(end(), mysql.ErrInvalidConn)
}

// TestUnansweredCommitIsReadBack: what was committed is a success, whatever
// became of the answer; what was not is no verdict, and can be claimed again.
func TestUnansweredCommitIsReadBack(t *testing.T) {
	t.Parallel()
	for _, strategy := range strategies {
		for name, test := range map[string]struct {
			makes  bool
			want   error
			orders int
		}{
			"committed":   {true, nil, 1},
			"rolled back": {false, order.ErrUnavailable, 0},
		} {
			t.Run(string(strategy)+", "+name, func(t *testing.T) {
				t.Parallel()
				s := newSale(t)
				id := s.coupon(1, 5)
				claims := s.instance(withStrategy(strategy), func(c *order.Config) {
					c.DB = openUnanswering(t, s.dsn, test.makes)
					c.BatchDB = c.DB
				})
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

// A late server is cut off from its client when a batch arrives, and makes it
// when the client begins something else.
type late struct {
	driver.Connector
	batch *func() error
}

func (l late) Connect(ctx context.Context) (driver.Conn, error) {
	c, err := l.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return lateConn{c.(mysqlConn), l.batch}, nil
}

type lateConn struct {
	mysqlConn
	batch *func() error
}

func (c lateConn) ExecContext(ctx context.Context, q string, args []driver.NamedValue) (driver.Result, error) {
	if !strings.HasPrefix(q, "START TRANSACTION;") {
		return c.mysqlConn.ExecContext(ctx, q, args)
	}
	*c.batch = sync.OnceValue(func() error {
		_, err := c.mysqlConn.ExecContext(context.Background(), q, args)
		return err
	})
	return nil, mysql.ErrInvalidConn
}

func (c lateConn) Close() error { return nil } // the server has not noticed

func (c lateConn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	if err := (*c.batch)(); err != nil {
		return nil, err
	}
	return c.mysqlConn.BeginTx(ctx, opts)
}

// TestBatchMadeLateIsMadeOnce: the stock is taken for it once, though the
// reading back found nothing.
func TestBatchMadeLateIsMadeOnce(t *testing.T) {
	t.Parallel()
	s := newSale(t)
	id := s.coupon(1, 5)
	var batch func() error
	db := openThrough(t, s.dsn, func(c driver.Connector) driver.Connector { return late{c, &batch} })
	claims := s.instance(func(c *order.Config) { c.DB, c.BatchDB = db, db })
	if _, err := claims.Claim(t.Context(), 42, id); !errors.Is(err, order.ErrUnavailable) {
		t.Errorf("claim: %v, want unavailable", err)
	}
	if err := batch(); err != nil {
		t.Fatal(err)
	}
	if a := s.audit(id); a.Orders != 1 || a.Stock != 4 {
		t.Errorf("audit %+v, want one order and the stock taken once", a)
	}
}

func openUnanswering(t *testing.T, dsn string, makes bool) *sqlx.DB {
	t.Helper()
	return openThrough(t, dsn, func(c driver.Connector) driver.Connector { return unanswering{c, makes} })
}

func openThrough(t *testing.T, dsn string, through func(driver.Connector) driver.Connector) *sqlx.DB {
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
	db := sqlx.NewDb(sql.OpenDB(through(connector)), "mysql")
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// TestTakenIDIsReplaced: an id that another order has costs a retry, not the
// claim, and is not mistaken for the user's own order.
func TestTakenIDIsReplaced(t *testing.T) {
	t.Parallel()
	for _, strategy := range strategies {
		t.Run(string(strategy), func(t *testing.T) {
			t.Parallel()
			s := newSale(t)
			first, second := s.coupon(1, 5), s.coupon(2, 5)
			o, err := s.instance(withStrategy(strategy)).Claim(t.Context(), 1, first)
			if err != nil {
				t.Fatal(err)
			}
			// Another order already has the number that comes next, in
			// whichever of the next seconds that is.
			db := labtest.Open(t, s.dsn)
			for second := range int64(60) {
				const q = `INSERT INTO coupon_orders (id, coupon_id, user_id, created_at) VALUES (?, 3, ?, NOW())`
				if _, err := db.ExecContext(t.Context(), q, o.ID+second<<32+1, second); err != nil {
					t.Fatal(err)
				}
			}
			made, err := s.instance(withStrategy(strategy)).Claim(t.Context(), 2, second)
			if err != nil {
				t.Fatalf("claim: %v", err)
			}
			parts, err := idgen.Parse(made.ID)
			if taken, _ := idgen.Parse(o.ID + 1); err != nil || parts.Sequence == taken.Sequence {
				t.Errorf("got id %d (%+v, %v)", made.ID, parts, err)
			}
		})
	}
}
