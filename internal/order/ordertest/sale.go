// Package ordertest gives tests a sale: a database, a Redis, and any number of
// instances that process claims, wired as cmd/api wires them.
package ordertest

import (
	"context"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/connect"
	"example.com/flashsale/internal/coupon"
	"example.com/flashsale/internal/idgen"
	"example.com/flashsale/internal/lab"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/lock/redislock"
	"example.com/flashsale/internal/order"
	"example.com/flashsale/internal/order/commit"
	"example.com/flashsale/internal/order/winners"
)

// A Sale is a database and a Redis, used by any number of instances.
type Sale struct {
	T       *testing.T
	DSN     string
	Redis   *lab.Redis
	Coupons *coupon.Store
	Orders  *order.Store

	db *sqlx.DB
}

// NewSale returns a Sale with a database and a Redis of its own.
func NewSale(t *testing.T) *Sale {
	t.Helper()
	return NewSaleOn(t, labtest.DSN(t))
}

// NewSaleOn returns a Sale in the database at dsn, which has the schema.
func NewSaleOn(t *testing.T, dsn string) *Sale {
	t.Helper()
	db := labtest.Open(t, dsn)
	return &Sale{t, dsn, labtest.Redis(t), coupon.NewStore(db), order.NewStore(db), db}
}

// A Config is that of an instance. Its Winners read Commit.DB.
type Config struct {
	Strategy commit.Strategy
	Commit   commit.Config
	Order    order.Config
}

// An Instance is one of the service.
type Instance struct {
	*order.Claims
	Committer order.Committer
	Winners   *winners.Winners
}

// Claim claims the first order of a user.
func (i *Instance) Claim(ctx context.Context, userID, couponID int64) (order.Order, error) {
	return i.Claims.Claim(ctx, order.Claimant{UserID: userID, Number: 1}, couponID)
}

// Instance opens another instance of the service on the sale, with pools of its
// own. Without changes it has the strategy, the lock and the scope of the shipped
// service, and a cache and a lock that end earlier.
func (s *Sale) Instance(changes ...func(*Config)) *Instance {
	s.T.Helper()
	c := s.ConfigOn(s.DSN)
	for _, change := range changes {
		change(&c)
	}
	committer, err := commit.New(c.Strategy, c.Commit)
	check.NoError(s.T, err)
	i := &Instance{Committer: committer, Winners: winners.New(c.Commit.DB)}
	c.Order.Committer, c.Order.Winners = i.Committer, i.Winners
	i.Claims, err = order.New(c.Order)
	check.NoError(s.T, err)
	return i
}

// ConfigOn returns the Config of an instance with MySQL at dsn. The options are for
// batches.
func (s *Sale) ConfigOn(dsn string, options ...connect.Option) Config {
	s.T.Helper()
	db, rdb := labtest.Open(s.T, dsn, connect.ShortTransactions), labtest.Dial(s.T, s.Redis)
	options = append(options, connect.BriefLockWaits, connect.MultiStatements)
	return Config{
		Strategy: commit.GroupCommit,
		Commit:   commit.Config{DB: db, BatchDB: labtest.Open(s.T, dsn, options...)},
		Order: order.Config{
			Coupons: coupon.NewCache(coupon.NewStore(db), 50*time.Millisecond), IDs: idgen.New(rdb, "order"),
			Locks: lock.New(redislock.New(rdb)), Scope: order.PerUser, LockTTL: 10 * time.Second,
			LockWait: 10 * time.Second,
		},
	}
}

// WithLocker makes an instance take its locks from l.
func WithLocker(l lock.Locker) func(*Config) {
	return func(c *Config) { c.Order.Locks = lock.New(l) }
}

// WithStrategy makes an instance commit by a strategy.
func WithStrategy(strategy commit.Strategy) func(*Config) {
	return func(c *Config) { c.Strategy = strategy }
}

// Coupon puts a coupon on sale and returns its id.
func (s *Sale) Coupon(id int64, stock int) int64 {
	s.T.Helper()
	return s.Split(id, stock, 1)
}

// Split is Coupon with the stock in segments.
func (s *Sale) Split(id int64, stock, segments int) int64 {
	s.T.Helper()
	c, err := s.New(id, stock).Split(segments)
	check.NoError(s.T, err)
	s.create(c)
	return id
}

// Ruled is Coupon with rules.
func (s *Sale) Ruled(id int64, stock int, rules coupon.Rules) {
	s.T.Helper()
	s.Create(s.New(id, stock), rules)
}

// New returns a coupon that is on sale once it is created.
func (s *Sale) New(id int64, stock int) coupon.Coupon {
	s.T.Helper()
	return s.newCoupon(id, -time.Hour, time.Hour, stock)
}

// Create creates a coupon with rules.
func (s *Sale) Create(c coupon.Coupon, rules coupon.Rules) {
	s.T.Helper()
	c, err := c.WithRules(rules)
	check.NoError(s.T, err)
	s.create(c)
}

// CouponFrom creates a coupon with begin and end counted from now.
func (s *Sale) CouponFrom(id int64, begin, end time.Duration, stock int) {
	s.T.Helper()
	s.create(s.newCoupon(id, begin, end, stock))
}

func (s *Sale) newCoupon(id int64, begin, end time.Duration, stock int) coupon.Coupon {
	s.T.Helper()
	now := time.Now()
	c, err := coupon.New(id, "a coupon", now.Add(begin), now.Add(end), stock, now)
	check.NoError(s.T, err)
	return c
}

func (s *Sale) create(c coupon.Coupon) {
	s.T.Helper()
	_, err := s.Coupons.Create(s.T.Context(), c, 1)
	check.NoError(s.T, err)
}

// Exec executes a statement.
func (s *Sale) Exec(q string, args ...any) {
	s.T.Helper()
	_, err := s.db.ExecContext(s.T.Context(), q, args...)
	check.NoError(s.T, err)
}

// Get reads one value.
func (s *Sale) Get(value any, q string, args ...any) {
	s.T.Helper()
	check.NoError(s.T, s.db.GetContext(context.Background(), value, q, args...))
}

// Audit audits a coupon.
func (s *Sale) Audit(couponID int64) order.Audit {
	s.T.Helper()
	a, err := s.Orders.Audit(context.Background(), couponID)
	check.NoError(s.T, err)
	return a
}

// Restock adds units to the stock of a coupon.
func (s *Sale) Restock(couponID int64, units int) {
	s.T.Helper()
	_, err := s.Coupons.Restock(s.T.Context(), couponID, units, 1)
	check.NoError(s.T, err)
}

// WantSold checks how many orders a coupon has, and what is left of its stock.
func (s *Sale) WantSold(couponID int64, orders, stock int) {
	s.T.Helper()
	if a := s.Audit(couponID); a.Orders != orders || a.Stock != stock {
		s.T.Errorf("audit %+v, want %d orders and a stock of %d", a, orders, stock)
	}
}
