package rig

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jmoiron/sqlx"

	"example.com/flashsale/internal/connect"
	"example.com/flashsale/internal/coupon"
	"example.com/flashsale/internal/lab"
	"example.com/flashsale/migrations"
)

// A Sale is a migrated database and a Redis database of its own. Instances of
// the service are started over it.
type Sale struct {
	Name          string // of the database
	DB            *sqlx.DB
	DSN, RedisURL string

	stack   *Stack
	env     []string
	coupons int64
}

// NewSale creates an empty sale. settings (KEY=value) go to each of its
// instances. If GUARDS_OFF among them names the unique key, the database has none;
// the other guards are in the service's statements.
func (s *Stack) NewSale(ctx context.Context, settings ...string) (*Sale, error) {
	return s.NewSaleOn(ctx, s.MySQL, s.MySQL.DSN, settings...)
}

// patient gives the rig's own connections the time that a busy machine needs. The
// service gives up after 2 s.
const patient = "?timeout=30s"

// NewSaleOn is NewSale on the database server m. Its instances reach the named
// database by instanceDSN, which may lead through a proxy.
func (s *Stack) NewSaleOn(
	ctx context.Context, m *lab.MySQL, instanceDSN func(database string) string, settings ...string,
) (*Sale, error) {
	name := fmt.Sprintf("sale_%d", s.sales.Add(1))
	dsn, err := m.Create(ctx, name)
	if err != nil {
		return nil, err
	}
	settings = append([]string{"MYSQL_DSN=" + instanceDSN(name), "MIGRATE=false"}, settings...)
	sale, err := s.SaleAt(name, dsn, settings...)
	if err != nil {
		return nil, err
	}
	if err = migrations.Up(ctx, sale.DB.DB); err == nil && slices.ContainsFunc(settings, dropsKey) {
		_, err = sale.DB.ExecContext(ctx, "ALTER TABLE coupon_orders DROP INDEX one_each")
	}
	if err != nil {
		return nil, errors.Join(err, sale.Close())
	}
	return sale, nil
}

func dropsKey(setting string) bool {
	name, guards, _ := strings.Cut(setting, "=")
	return name == "GUARDS_OFF" && slices.Contains(strings.Split(guards, ","), "unique")
}

// SaleAt returns the sale on a database that exists, which its instances migrate.
func (s *Stack) SaleAt(name, dsn string, settings ...string) (*Sale, error) {
	db, err := connect.MySQL(dsn+patient, 4)
	if err != nil {
		return nil, err
	}
	sale := &Sale{Name: name, DB: db, DSN: dsn, stack: s,
		RedisURL: fmt.Sprintf("%s?db=%d", s.Redis.URL, s.sales.Add(1)%redisDatabases)}
	sale.env = append([]string{
		"MYSQL_DSN=" + dsn, "REDIS_URL=" + sale.RedisURL, "JWT_SECRET=" + s.Secret, "MIGRATE=true", "LOG_LEVEL=warn",
	}, settings...)
	return sale, nil
}

// LabSettings returns the settings of an instance with this lock, lock scope and
// commit strategy, and without the guards in guardsOff. It sets every setting that
// matters to an experiment, so that none comes from the caller's environment.
func LabSettings(lock, scope, commit string, guardsOff ...string) []string {
	return []string{
		"LAB=true", "GUARDS_OFF=" + strings.Join(guardsOff, ","),
		"LOCK=" + lock, "LOCK_SCOPE=" + scope, "COMMIT=" + commit,
		"USER_RATE=0",                        // a burst has 666 claims of one user
		"LOCK_WAIT=50s", "CLAIM_TIMEOUT=55s", // under a lock per coupon the last of 666 claims waits for 665 commits
	}
}

// AddCoupon inserts a coupon that is on sale now and returns its id.
func (s *Sale) AddCoupon(ctx context.Context, stock int) (int64, error) {
	return s.AddCouponWithRules(ctx, stock, 1, coupon.Rules{PerUser: 1})
}

// AddCouponWithRules is AddCoupon with the stock in segments, and with rules.
func (s *Sale) AddCouponWithRules(ctx context.Context, stock, segments int, rules coupon.Rules) (int64, error) {
	s.coupons++
	now := time.Now()
	c, err := coupon.New(s.coupons, fmt.Sprintf("coupon %d", s.coupons), now.Add(-time.Hour),
		now.Add(24*time.Hour), stock, now)
	if err == nil {
		c, err = c.Split(segments)
	}
	if err == nil {
		c, err = c.WithRules(rules)
	}
	if err != nil {
		return 0, err
	}
	_, err = coupon.NewStore(s.DB).Create(ctx, c, 1)
	return c.ID, err
}

// Rule gives a coupon that nobody has read yet rules, whatever the API allows.
func (s *Sale) Rule(ctx context.Context, couponID int64, r coupon.Rules) error {
	_, err := s.DB.ExecContext(ctx,
		`INSERT INTO coupon_rules (coupon_id, per_user, hold_seconds, returnable) VALUES (?, ?, ?, ?)`,
		couponID, r.PerUser, r.HoldSeconds, r.Returnable)
	return err
}

// AwaitExpiry waits until no order has a hold: each has been used, or has ended and given its unit
// back, which no audit before can see happen twice. It returns how many still have one after limit.
func (s *Sale) AwaitExpiry(ctx context.Context, limit time.Duration) (left int, err error) {
	return s.AwaitNone(ctx, limit,
		"SELECT COUNT(*) FROM coupon_orders WHERE used_at IS NULL AND expires_at IS NOT NULL")
}

// AwaitNone waits until a query counts nothing. It returns what it still counts after limit.
func (s *Sale) AwaitNone(ctx context.Context, limit time.Duration, q string) (left int, err error) {
	for end := time.Now().Add(limit); ; {
		err := s.DB.GetContext(ctx, &left, q)
		if err != nil || left == 0 || time.Now().After(end) {
			return left, err
		}
		if !Sleep(ctx, 20*time.Millisecond) {
			return left, ctx.Err()
		}
	}
}

// Close closes the connections to the database. The data stay until the stack
// is closed.
func (s *Sale) Close() error { return s.DB.Close() }
