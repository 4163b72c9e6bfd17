package winners_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/connect"
	"example.com/flashsale/internal/coupon"
	"example.com/flashsale/internal/faultproxy"
	"example.com/flashsale/internal/lab"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/order"
	"example.com/flashsale/internal/order/ordertest"
	"example.com/flashsale/internal/order/winners"
)

func TestMain(m *testing.M) { labtest.Main(m, lab.MySQLServer, lab.RedisServer) }

// allUsers is in the query of a filter.
const allUsers = "SELECT o.user_id"

// readingThrough makes an instance look for winners through a proxy.
func readingThrough(s *ordertest.Sale) (*faultproxy.Proxy, func(*ordertest.Config)) {
	s.T.Helper()
	proxy, dsn := labtest.ProxiedMySQL(s.T, s.DSN)
	return proxy, func(c *ordertest.Config) { c.Commit.DB = s.ConfigOn(dsn).Commit.DB }
}

// More coupons are sold out than the bounds allow to remember: every winner is
// told the order's id, every other user is refused, and no coupon is read in
// full more than once.
func TestSoldOutCouponsBeyondTheMemoryAreAnswered(t *testing.T) {
	t.Parallel()
	const coupons, orders = 5, 100
	s := ordertest.NewSale(t)
	sellOut(s, coupons, orders)
	proxy, through := readingThrough(s)
	claims := s.Instance(through)
	proxy.Inject(faultproxy.Fault{}, allUsers, faultproxy.Always)
	limit := 5 * winners.FilterOverhead / 2 // two filters
	winners.Limit(claims.Winners, 10, limit)
	for range 3 {
		for id := int64(1); id <= coupons; id++ {
			ordertest.MustBeSoldOut(t, claims, id)
			for user := int64(1); user <= orders; user += 7 {
				_, err := claims.Claim(t.Context(), user, id)
				ordertest.WantOrder(t, err, orderID(id, user))
			}
		}
	}
	check.Eventually(t, "two filters are loaded", func() bool {
		return winners.FilterLoaded(claims.Winners, 1, 0) && winners.FilterLoaded(claims.Winners, 2, 0)
	})
	if n := proxy.Hits(); n != 2 {
		t.Errorf("%d full reads of a coupon's orders, want 2", n)
	}
	if n := winners.FilterBytes(claims.Winners); n > limit {
		t.Errorf("the filters have %d bytes, more than %d", n, limit)
	}
}

// A filter answers users without an order without a query, and a restock
// replaces it.
func TestSoldOutCouponIsReadOncePerRestock(t *testing.T) {
	t.Parallel()
	s := ordertest.NewSale(t)
	proxy, through := readingThrough(s)
	claims := s.Instance(through)
	proxy.Inject(faultproxy.Fault{}, allUsers, faultproxy.Always)
	id := s.Coupon(1, 1)
	for restock := range 2 {
		check.Eventually(t, "a unit is sold", func() bool {
			_, err := claims.Claim(t.Context(), int64(restock)+1, id)
			return err == nil
		})
		check.Eventually(t, "the filter is loaded", func() bool {
			ordertest.MustBeSoldOut(t, claims, id)
			return winners.FilterLoaded(claims.Winners, id, int64(restock))
		})
		before := proxy.Requests()
		for range 100 {
			ordertest.MustBeSoldOut(t, claims, id)
		}
		if n := proxy.Requests() - before; n != 0 {
			t.Errorf("%d queries for 100 claims of a user without an order", n)
		}
		if n := proxy.Hits(); n != restock+1 {
			t.Errorf("%d full reads after %d restocks", n, restock)
		}
		if n := winners.FilterBytes(claims.Winners); n >= 2*winners.FilterOverhead {
			t.Errorf("%d bytes after %d restocks, want those of one filter", n, restock)
		}
		s.Restock(id, 1)
	}
}

// While the orders of a coupon are read, its claims and those of other coupons
// are answered.
func TestReadingAllOrdersDelaysNoClaim(t *testing.T) {
	t.Parallel()
	s := ordertest.NewSale(t)
	sellOut(s, 2, 10)
	proxy, through := readingThrough(s)
	claims := s.Instance(through)
	proxy.Inject(faultproxy.HangReply, allUsers, faultproxy.Always)
	ordertest.MustBeSoldOut(t, claims, 1)
	check.Eventually(t, "the orders are read", func() bool { return proxy.Hits() > 0 })
	for id := int64(1); id <= 2; id++ {
		ordertest.MustBeSoldOut(t, claims, id)
		ordertest.WantClaim(t, claims, 5, id, order.ErrAlreadyClaimed)
	}
	start := time.Now()
	check.NoError(t, claims.Close(t.Context()))
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("Close waited %v for the read", took)
	}
}

// replicas is a connector to a read/write split: queries outside a transaction
// go to the two replicas in turn. Without a turn, all queries go to the one that
// lags.
type replicas struct {
	driver.Connector
	lagging driver.Connector
	turn    *atomic.Int64
}

func (r replicas) Connect(ctx context.Context) (driver.Conn, error) {
	current, err := r.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	lagging, err := r.lagging.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &replicasConn{current.(connect.Conn), lagging.(connect.Conn), r.turn, false}, nil
}

type replicasConn struct {
	connect.Conn
	lagging connect.Conn
	turn    *atomic.Int64
	inTx    bool
}

func (c *replicasConn) ExecContext(ctx context.Context, q string, args []driver.NamedValue) (driver.Result, error) {
	switch q {
	case "START TRANSACTION":
		c.inTx = true
	case "COMMIT", "ROLLBACK":
		c.inTx = false
	}
	return c.Conn.ExecContext(ctx, q, args)
}

func (c *replicasConn) QueryContext(ctx context.Context, q string, args []driver.NamedValue) (driver.Rows, error) {
	if c.turn == nil || !c.inTx && c.turn.Add(1)%2 == 0 {
		return c.lagging.QueryContext(ctx, q, args)
	}
	return c.Conn.QueryContext(ctx, q, args)
}

func (c *replicasConn) Close() error { return errors.Join(c.Conn.Close(), c.lagging.Close()) }

// A proxy sends the locking read of a transaction to a replica that lags.
func TestStockReadFromAReplicaIsNotSold(t *testing.T) {
	t.Parallel()
	s := ordertest.NewSale(t)
	behind := ordertest.NewSale(t)
	behind.Coupon(1, 10)
	sellOut(s, 1, 10)
	db := openReplicas(s, behind.DSN, nil)
	claims := s.Instance(func(c *ordertest.Config) {
		c.Commit.DB, c.Commit.BatchDB, c.Order.Coupons = db, db, coupon.NewCache(behind.Coupons, time.Minute)
	})
	ordertest.WantClaim(t, claims, 1000, 1, order.ErrUnavailable)
	if a := s.Audit(1); a.Oversold() != 0 {
		t.Errorf("audit %+v", a)
	}
}

// Behind a read/write split the stock may be read from one replica and the
// orders from another. A winner whose order one of them lacks is not told that
// the coupon is sold out.
func TestLaggingReplicaHidesNoWinner(t *testing.T) {
	t.Parallel()
	s := ordertest.NewSale(t)
	behind := ordertest.NewSale(t)
	sellOut(behind, 1, 9)
	behind.Exec(`UPDATE coupons SET initial_stock = 10, stock = 1 WHERE id = 1`)
	sellOut(s, 1, 10) // the last order has not reached the other replica
	for firstTurn := range int64(2) {
		turn := new(atomic.Int64)
		turn.Store(firstTurn)
		db := openReplicas(s, behind.DSN, turn)
		claims := s.Instance(func(c *ordertest.Config) {
			c.Commit.DB, c.Order.Coupons = db, coupon.NewCache(coupon.NewStore(db), time.Minute)
		})
		for range 10 {
			_, err := claims.Claim(t.Context(), 10, 1)
			ordertest.WantOrder(t, err, orderID(1, 10))
			winners.Limit(claims.Winners, 10, 1<<20) // forgets the order
			ordertest.MustBeSoldOut(t, claims, 1)
		}
	}
}

// A replica that lags shows an order that has ended. Its user is told of it no longer than that.
func TestOrderThatHasEndedIsForgotten(t *testing.T) {
	t.Parallel()
	s, behind := ordertest.NewSale(t), ordertest.NewSale(t)
	for _, one := range []*ordertest.Sale{s, behind} {
		sellOut(one, 1, 10)
	}
	const came, sold = `UPDATE coupons SET version = 1`, `UPDATE coupon_orders SET user_id = 11 WHERE user_id = 10`
	s.Exec(came)
	s.Exec(sold)
	claims := s.Instance(func(c *ordertest.Config) { c.Commit.DB = behind.ConfigOn(behind.DSN).Commit.DB })
	ordertest.WantClaim(t, claims, 10, 1, order.ErrAlreadyClaimed)
	behind.Exec(came)
	behind.Exec(sold)
	ordertest.WantClaim(t, claims, 10, 1, coupon.ErrSoldOut)
}

// User 10 has the last order. The replica is from before it, or from before the return of its unit,
// when the coupon was sold out as well: no filter may be loaded from there.
func TestReplicaFromBeforeAnOrderHidesNoWinner(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ primary, replica string }{
		"order":  {`DO 0`, `UPDATE coupons SET initial_stock = 10, stock = 1`},
		"return": {`UPDATE coupons SET version = 1`, `DO 0`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, behind := ordertest.NewSale(t), ordertest.NewSale(t)
			sellOut(s, 1, 10)
			s.Exec(test.primary)
			sellOut(behind, 1, 9)
			behind.Exec(test.replica)
			proxy, through := readingThrough(behind)
			claims := s.Instance(through)
			proxy.Inject(faultproxy.Fault{}, allUsers, faultproxy.Always)
			check.Eventually(t, "all orders have been read, and are read again", func() bool {
				winners.Limit(claims.Winners, 10, 1<<20) // forgets the order
				ordertest.WantClaim(t, claims, 10, 1, order.ErrAlreadyClaimed)
				ordertest.WantClaim(t, claims, 11, 1, coupon.ErrSoldOut)
				return proxy.Hits() > 1 || t.Failed()
			})
		})
	}
}

func openReplicas(s *ordertest.Sale, laggingDSN string, turn *atomic.Int64) *sqlx.DB {
	s.T.Helper()
	var lagging driver.Connector
	labtest.Open(s.T, laggingDSN, connect.OpenBy(func(c driver.Connector) *sql.DB {
		lagging = c
		return sql.OpenDB(c)
	}))
	return labtest.Open(s.T, s.DSN, connect.OpenBy(func(c driver.Connector) *sql.DB {
		return sql.OpenDB(replicas{c, lagging, turn})
	}))
}

// sellOut creates coupons with ids from 1, each of them sold out to the
// users 1 to orders.
func sellOut(s *ordertest.Sale, coupons, orders int) {
	s.T.Helper()
	q := `INSERT INTO coupon_orders (id, coupon_id, user_id, created_at)
		SELECT ? + n, ?, n, NOW() FROM ` + labtest.Numbers(orders)
	for id := int64(1); id <= int64(coupons); id++ {
		s.Coupon(id, orders)
		s.Exec(q, orderID(id, 0), id)
		s.Exec(`UPDATE coupons SET stock = 0 WHERE id = ?`, id)
	}
}

// orderID returns the id of a user's order by sellOut.
func orderID(couponID, userID int64) int64 { return couponID*1_000_000 + userID }

// The connection of one lookup is silent.
func TestLookupThatHangsHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	s := ordertest.NewSale(t)
	id := s.Coupon(1, 2)
	for user := range int64(2) {
		ordertest.WantClaim(t, s.Instance(), user+1, id, nil)
	}
	proxy, through := s.Proxied()
	claims := s.Instance(through)
	winners.Limit(claims.Winners, 10, 0) // no filter
	proxy.Inject(faultproxy.HangReply, "o.user_id IN (", 1)
	hanging := ordertest.Claim(t.Context(), claims, 1, id)
	check.Eventually(t, "a lookup hangs", func() bool { return proxy.Hits() == 1 })
	start := time.Now()
	if _, err := claims.Claim(t.Context(), 2, id); !errors.Is(err, order.ErrAlreadyClaimed) ||
		time.Since(start) > 5*time.Second {
		t.Errorf("another user's claim: %v after %s", err, time.Since(start))
	}
	proxy.Heal()
	check.ErrorIs(t, <-hanging, order.ErrUnavailable)
}
