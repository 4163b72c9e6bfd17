package commit_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/connect"
	"example.com/flashsale/internal/coupon"
	"example.com/flashsale/internal/lab"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/order"
	"example.com/flashsale/internal/order/commit"
	"example.com/flashsale/internal/order/ordertest"
	"example.com/flashsale/internal/transaction"
)

// A clusterSale is a sale on two nodes that both accept writes. Their transactions
// conflict, and abort one another.
type clusterSale struct {
	*ordertest.Sale
	nodes    []*lab.MySQL
	database string
}

func newClusterSale(t *testing.T, nodes []*lab.MySQL) clusterSale {
	t.Helper()
	dsn := labtest.EmptyDatabase(t, nodes[0])
	labtest.Migrate(t, labtest.Open(t, dsn))
	return clusterSale{ordertest.NewSaleOn(t, dsn), nodes, strings.TrimPrefix(dsn, nodes[0].DSN(""))}
}

// with returns the sale for a subtest.
func (s clusterSale) with(t *testing.T) clusterSale {
	other := *s.Sale
	other.T = t
	return clusterSale{&other, s.nodes, s.database}
}

// A transaction that another node's aborts loses no order that a client was told
// of, and takes no stock.
func TestPromisesHoldOnTwoGaleraNodes(t *testing.T) {
	t.Parallel()
	s := newClusterSale(t, labtest.Group(t, lab.Galera, 2).Members)
	s.checkPromises()
	t.Run("between two statements", func(t *testing.T) { s.with(t).abortBefore("; UPDATE", 10) })
	t.Run("before the event", func(t *testing.T) { s.with(t).abortBefore("; INSERT INTO coupon_events", 11) })
}

// Group Replication also reports an abort as error 1180, which proves nothing of other
// servers. Taken for an unknown outcome, it would be answered with 503.
func TestPromisesHoldOnTwoPrimariesOfAGroup(t *testing.T) {
	t.Parallel()
	newClusterSale(t, labtest.Group(t, lab.MultiPrimary, 2).Members).checkPromises()
}

func (s clusterSale) checkPromises() {
	for i, strategy := range commit.Strategies {
		s.T.Run(string(strategy), func(t *testing.T) {
			s := s.with(t)
			id := s.couponOnAllNodes(int64(i + 1))
			s.checkNodes(id, s.sellFor(time.Second, id, ordertest.WithStrategy(strategy)))
		})
	}
}

// couponOnAllNodes returns when every node has the new coupon.
func (s clusterSale) couponOnAllNodes(id int64) int64 {
	s.T.Helper()
	s.Coupon(id, 1_000_000)
	for _, node := range s.nodes {
		store := coupon.NewStore(labtest.Open(s.T, node.DSN(s.database)))
		check.Eventually(s.T, "the node has the coupon", func() bool {
			_, err := store.Find(s.T.Context(), id)
			return err == nil
		})
	}
	return id
}

// sellFor lets 16 clients of an instance on each node claim for d, and returns
// the users of the orders that they were told of, by order id.
func (s clusterSale) sellFor(d time.Duration, couponID int64, change func(*ordertest.Config)) map[int64]int64 {
	s.T.Helper()
	ctx, cancel := context.WithTimeout(s.T.Context(), d)
	defer cancel()
	var users, orders = new(atomic.Int64), new(sync.Map)
	var wg sync.WaitGroup
	for _, node := range s.nodes {
		claims := s.Instance(s.on(node), change)
		for range 16 {
			wg.Go(func() {
				for ctx.Err() == nil {
					o, err := claims.Claim(s.T.Context(), users.Add(1), couponID)
					if err == nil {
						orders.Store(o.ID, o.UserID)
					} else if !errors.Is(err, order.ErrUnavailable) ||
						transaction.HasNumber(err, transaction.ErrorDuringCommit) {
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

// on returns the change that connects an instance to a node.
func (s clusterSale) on(node *lab.MySQL) func(*ordertest.Config) {
	return func(c *ordertest.Config) { *c = s.ConfigOn(node.DSN(s.database)) }
}

// checkNodes checks the promises by what each node has itself.
func (s clusterSale) checkNodes(couponID int64, acknowledged map[int64]int64) {
	s.T.Helper()
	for i, node := range s.nodes {
		db := labtest.Open(s.T, node.SyncedDSN(s.database))
		users := usersOf(s.T, db, couponID)
		missing := maps.Clone(acknowledged)
		maps.DeleteFunc(missing, func(id, user int64) bool { return users[id] == user })
		if len(missing) > 0 {
			s.T.Errorf("node %d lacks %d of %d acknowledged orders", i+1, len(missing), len(acknowledged))
		}
		a, err := order.NewStore(db).Audit(s.T.Context(), couponID)
		check.NoError(s.T, err)
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
	check.NoError(t, db.SelectContext(t.Context(), &rows, q, couponID))
	users := make(map[int64]int64, len(rows))
	for _, o := range rows {
		users[o.ID] = o.UserID
	}
	return users
}

// abortBefore aborts a batch of the first node before a statement of a round trip.
// MariaDB does not tell, and executes that statement alone.
func (s clusterSale) abortBefore(statement string, couponID int64) {
	s.couponOnAllNodes(couponID)
	unlocked, withEvents := ordertest.WithLocker(lock.None()), func(c *ordertest.Config) { c.Commit.Outbox = true }
	slow := s.Instance(func(c *ordertest.Config) {
		*c = s.ConfigOn(s.nodes[0].DSN(s.database), connect.WrapBy(pausing(statement)))
	}, unlocked, withEvents)
	result := make(chan error, 1)
	acknowledged := map[int64]int64{}
	go func() {
		o, err := slow.Claim(s.T.Context(), 42, couponID)
		if err == nil {
			acknowledged[o.ID] = o.UserID
		}
		result <- err
	}()
	check.Eventually(s.T, "the batch pauses", func() bool { return s.Executing("DO SLEEP%") == 1 })
	o, err := s.Instance(s.on(s.nodes[1]), unlocked, withEvents).Claim(s.T.Context(), 42, couponID)
	check.NoError(s.T, err)
	ordertest.Expect(s.T, "the aborted claim", result, order.ErrAlreadyClaimed)
	acknowledged[o.ID] = o.UserID
	s.checkNodes(couponID, acknowledged)
	for i, node := range s.nodes {
		var all []string
		const q = `SELECT body FROM coupon_events WHERE body LIKE ?`
		err := labtest.Open(s.T, node.SyncedDSN(s.database)).Select(&all, q, fmt.Sprintf(`%%","%d","%%`, couponID))
		if err != nil || len(all) != 1 || !strings.Contains(all[0], fmt.Sprint(o.ID)) {
			s.T.Errorf("node %d has events %q of order %d, %v", i+1, all, o.ID, err)
		}
	}
}

// pausing returns what makes a connection pause before a statement of several. The abort ends the
// pause.
func pausing(before string) func(connect.Conn) connect.Conn {
	return func(c connect.Conn) connect.Conn { return pausingConn{c, before} }
}

type pausingConn struct {
	connect.Conn
	before string
}

func (c pausingConn) ExecContext(ctx context.Context, q string, args []driver.NamedValue) (driver.Result, error) {
	if i := strings.Index(q, c.before); i >= 0 {
		q = q[:i] + "; DO SLEEP(10)" + q[i:]
	}
	return c.Conn.ExecContext(ctx, q, args)
}
