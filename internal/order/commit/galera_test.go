package commit_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"example.com/flashsale/internal/connect"
	"example.com/flashsale/internal/coupon"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/order"
	"example.com/flashsale/internal/order/commit"
	"example.com/flashsale/internal/order/ordertest"
)

// A galeraSale is a sale on two nodes that both accept writes. Their transactions
// conflict, and abort one another.
type galeraSale struct {
	*ordertest.Sale
	nodes []string // the DSNs
}

func newGaleraSale(t *testing.T) galeraSale {
	t.Helper()
	g := labtest.Galera(t, 2)
	dsn := labtest.EmptyDatabase(t, g.Nodes[0])
	labtest.Migrate(t, labtest.Open(t, dsn))
	name := strings.TrimPrefix(dsn, g.Nodes[0].DSN(""))
	s := ordertest.NewSaleOn(t, dsn)
	return galeraSale{s, []string{dsn, g.Nodes[1].DSN(name)}}
}

// with returns the sale for a subtest.
func (s galeraSale) with(t *testing.T) galeraSale {
	other := *s.Sale
	other.T = t
	return galeraSale{&other, s.nodes}
}

// A transaction that another node's aborts loses no order that a client was told
// of, and takes no stock.
func TestPromisesHoldOnTwoGaleraNodes(t *testing.T) {
	t.Parallel()
	s := newGaleraSale(t)
	for i, strategy := range commit.Strategies {
		t.Run(string(strategy), func(t *testing.T) {
			s := s.with(t)
			id := s.couponOnAllNodes(int64(i + 1))
			s.checkNodes(id, s.sellFor(time.Second, id, ordertest.WithStrategy(strategy)))
		})
	}
	t.Run("between two statements", func(t *testing.T) { s.with(t).abortBetweenStatements(10) })
}

// couponOnAllNodes returns when every node has the new coupon.
func (s galeraSale) couponOnAllNodes(id int64) int64 {
	s.T.Helper()
	s.Coupon(id, 1_000_000)
	for _, dsn := range s.nodes {
		store := coupon.NewStore(labtest.Open(s.T, dsn))
		labtest.Eventually(s.T, "the node has the coupon", func() bool {
			_, err := store.Find(s.T.Context(), id)
			return err == nil
		})
	}
	return id
}

// sellFor lets 16 clients of an instance on each node claim for d, and returns
// the users of the orders that they were told of, by order id.
func (s galeraSale) sellFor(d time.Duration, couponID int64, change func(*ordertest.Config)) map[int64]int64 {
	s.T.Helper()
	ctx, cancel := context.WithTimeout(s.T.Context(), d)
	defer cancel()
	var users, orders = new(atomic.Int64), new(sync.Map)
	var wg sync.WaitGroup
	for _, dsn := range s.nodes {
		claims := s.Instance(func(c *ordertest.Config) { *c = s.ConfigOn(dsn) }, change)
		for range 16 {
			wg.Go(func() {
				for ctx.Err() == nil {
					o, err := claims.Claim(s.T.Context(), users.Add(1), couponID)
					if err == nil {
						orders.Store(o.ID, o.UserID)
					} else if !errors.Is(err, order.ErrUnavailable) {
						s.T.Errorf("claim: %v", err)
					}
				}
			})
		}
	}
	wg.Wait()
	acknowledged := map[int64]int64{}
	for id, user := range orders.Range {
		acknowledged[id.(int64)] = user.(int64)
	}
	return acknowledged
}

// checkNodes checks the promises by what each node has itself.
func (s galeraSale) checkNodes(couponID int64, acknowledged map[int64]int64) {
	s.T.Helper()
	for i, dsn := range s.nodes {
		db := labtest.Open(s.T, dsn+"?wsrep_sync_wait=1") // with all that has been committed before
		users := usersOf(s.T, db, couponID)
		missing := maps.Clone(acknowledged)
		maps.DeleteFunc(missing, func(id, user int64) bool { return users[id] == user })
		if len(missing) > 0 {
			s.T.Errorf("node %d lacks %d of %d acknowledged orders", i+1, len(missing), len(acknowledged))
		}
		a, err := order.NewStore(db).Audit(s.T.Context(), couponID)
		if err != nil {
			s.T.Fatal(err)
		}
		if a.Orders != a.InitialStock-a.Stock || a.Duplicates() != 0 || a.Orders == 0 {
			s.T.Errorf("node %d: audit %+v, %d orders acknowledged", i+1, a, len(acknowledged))
		}
	}
}

// usersOf returns the users of a coupon's orders, by order id.
func usersOf(t *testing.T, db *sqlx.DB, couponID int64) map[int64]int64 {
	t.Helper()
	var rows []order.Order
	const q = `SELECT id, coupon_id, user_id, created_at FROM coupon_orders WHERE coupon_id = ?`
	if err := db.SelectContext(t.Context(), &rows, q, couponID); err != nil {
		t.Fatal(err)
	}
	users := make(map[int64]int64, len(rows))
	for _, o := range rows {
		users[o.ID] = o.UserID
	}
	return users
}

// abortBetweenStatements aborts a batch of the first node before the last
// statement of a round trip. The server does not tell.
func (s galeraSale) abortBetweenStatements(couponID int64) {
	s.couponOnAllNodes(couponID)
	unlocked := ordertest.WithLocker(lock.None())
	slow := s.Instance(func(c *ordertest.Config) { *c = s.ConfigOn(s.nodes[0], connect.OpenBy(openPausing)) },
		unlocked)
	result := make(chan error, 1)
	acknowledged := map[int64]int64{}
	go func() {
		o, err := slow.Claim(s.T.Context(), 42, couponID)
		if err == nil {
			acknowledged[o.ID] = o.UserID
		}
		result <- err
	}()
	labtest.Eventually(s.T, "the batch pauses", func() bool { return s.Executing("DO SLEEP%") == 1 })
	o, err := s.Instance(func(c *ordertest.Config) { *c = s.ConfigOn(s.nodes[1]) }, unlocked).Claim(s.T.Context(),
		42, couponID)
	if err != nil {
		s.T.Fatal(err)
	}
	ordertest.Expect(s.T, "the aborted claim", result, order.ErrAlreadyClaimed)
	acknowledged[o.ID] = o.UserID
	s.checkNodes(couponID, acknowledged)
}

// openPausing opens a pool that pauses before the last of several statements. The
// abort ends the pause.
func openPausing(c driver.Connector) *sql.DB { return sql.OpenDB(pausingConnector{c}) }

type pausingConnector struct{ driver.Connector }

func (c pausingConnector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return pausingConn{conn.(driverConn)}, nil
}

// driverConn is what database/sql uses of a connection.
type driverConn interface {
	driver.Conn
	driver.ExecerContext
	driver.QueryerContext
	driver.NamedValueChecker
	driver.SessionResetter
	driver.Validator
}

type pausingConn struct{ driverConn }

func (c pausingConn) ExecContext(ctx context.Context, q string, args []driver.NamedValue) (driver.Result, error) {
	if i := strings.LastIndex(q, ";"); i >= 0 {
		q = q[:i] + "; DO SLEEP(10)" + q[i:]
	}
	return c.driverConn.ExecContext(ctx, q, args)
}
