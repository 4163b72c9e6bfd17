package order

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/jmoiron/sqlx"

	"example.com/flashsale/internal/coupon"
	"example.com/flashsale/internal/idgen"
	"example.com/flashsale/internal/lock"
)

// Claims processes claims. It is safe for concurrent use, and any number of
// instances may process claims on one database.
type Claims struct {
	coupons  *coupon.Cache
	ids      *idgen.Worker
	strategy committer
	winners  *winners
	locks    *lock.Client
	key      func(userID, couponID int64) string
	lock     lock.Options
	releaser releaser
}

// Config says how Claims locks and commits.
type Config struct {
	DB          *sqlx.DB
	BatchDB     *sqlx.DB // the same database, opened with multi-statements; for GroupCommit only
	Coupons     *coupon.Cache
	CouponStore *coupon.Store // reads a coupon past the cache
	IDs         *idgen.Worker
	Locks       *lock.Client

	Scope    Scope         // what a claim locks
	LockTTL  time.Duration // after which the lock of a crashed instance expires
	LockWait time.Duration // longest wait for the lock with PerCoupon

	Strategy Strategy // how orders are committed
}

// Scope is what a claim locks.
type Scope string

// PerUser locks the user: a concurrent claim of the same user is refused.
// PerCoupon locks the coupon: concurrent claims of the coupon wait.
const (
	PerUser   Scope = "user"
	PerCoupon Scope = "coupon"
)

// New returns Claims as configured, or an error if c lacks a dependency or
// names an unknown Scope or Strategy.
func New(c Config) (*Claims, error) {
	if c.DB == nil || c.Coupons == nil || c.CouponStore == nil || c.IDs == nil || c.Locks == nil {
		return nil, errors.New("order: the Config lacks a dependency")
	}
	strategy, err := newCommitter(c.Strategy, c.DB, c.BatchDB)
	if err != nil {
		return nil, err
	}
	claims := &Claims{
		coupons: c.Coupons, ids: c.IDs, locks: c.Locks,
		strategy: strategy,
		winners:  newWinners(c.DB, c.CouponStore),
		lock:     lock.Options{TTL: c.LockTTL, Class: "claim"},
	}
	switch c.Scope {
	case PerUser:
		claims.key = userKey
	case PerCoupon:
		claims.key, claims.lock.Wait = couponKey, c.LockWait
	default:
		return nil, fmt.Errorf("order: unknown lock scope %q", c.Scope)
	}
	return claims, nil
}

func userKey(userID, _ int64) string { return "redis_lock:userId:" + strconv.FormatInt(userID, 10) }
func couponKey(_, couponID int64) string {
	return "redis_lock:couponId:" + strconv.FormatInt(couponID, 10)
}

// Claim places a user's order for one coupon. It returns once the order is durable.
// Otherwise the error is a verdict of this package or of package coupon, or
// wraps ErrUnavailable if the outcome is not known when ctx ends.
func (c *Claims) Claim(ctx context.Context, userID, couponID int64) (Order, error) {
	o, err := c.claim(ctx, userID, couponID)
	if err != nil && !isVerdict(err) && !isMistake(err) {
		err = fmt.Errorf("%w: claim of coupon %d for user %d: %w", ErrUnavailable, couponID, userID, err)
	}
	return o, err
}

// isMistake reports whether err is a wrong use of the lock by this package.
func isMistake(err error) bool {
	return errors.Is(err, lock.ErrReentry) || errors.Is(err, lock.ErrInvalid)
}

func isVerdict(err error) bool {
	for _, v := range []error{
		coupon.ErrNotFound, coupon.ErrNotStarted, coupon.ErrEnded, coupon.ErrSoldOut,
		ErrAlreadyClaimed, ErrClaimInProgress,
	} {
		if errors.Is(err, v) {
			return true
		}
	}
	return false
}

func (c *Claims) claim(ctx context.Context, userID, couponID int64) (o Order, err error) {
	now := time.Now().UTC().Truncate(time.Millisecond)
	cp, err := c.coupons.Find(ctx, couponID)
	if err != nil {
		return Order{}, err
	}
	if err := c.precheck(ctx, cp, userID, now); err != nil {
		return Order{}, err
	}
	held, err := c.locks.Acquire(ctx, c.key(userID, couponID), c.lock)
	if errors.Is(err, lock.ErrLocked) {
		return Order{}, ErrClaimInProgress
	}
	if err != nil {
		return Order{}, err
	}
	defer func() {
		released := c.releaser.release(held)
		if isVerdict(err) {
			select { // a refused user may claim again at once, at another instance
			case <-released:
			case <-ctx.Done():
			}
		}
	}()
	return c.place(held.Context(), Order{CouponID: couponID, UserID: userID, CreatedAt: now})
}

// precheck returns the verdict that needs no transaction, or nil. A user who
// has an order gets ErrAlreadyClaimed even if the coupon is sold out: the reply
// to the winning claim may have been lost.
func (c *Claims) precheck(ctx context.Context, cp coupon.Coupon, userID int64, now time.Time) error {
	err := cp.Open(now)
	if err != nil && !errors.Is(err, coupon.ErrSoldOut) {
		return err
	}
	orderID, found := c.winners.find(cp.ID, userID)
	if !found && err != nil {
		var findErr error
		if orderID, found, findErr = c.winners.findComplete(ctx, cp, userID); findErr != nil {
			return findErr
		}
	}
	if found {
		return &AlreadyClaimedError{OrderID: orderID}
	}
	return err
}

// maxIDAttempts bounds how often a taken id is replaced. The id worker gives no
// id twice, except after the double faults that its package names.
const maxIDAttempts = 3

// place gives o an id, commits it, and updates the caches by the result.
func (c *Claims) place(ctx context.Context, o Order) (Order, error) {
	var err error
	for attempt := 0; attempt == 0 || errors.Is(err, errIDTaken) && attempt < maxIDAttempts; attempt++ {
		if o.ID, err = c.ids.Next(ctx); err != nil {
			return Order{}, err
		}
		err = c.strategy.Commit(ctx, o)
	}
	if errors.Is(err, coupon.ErrSoldOut) {
		c.coupons.SoldOut(o.CouponID)
	}
	if claimed, ok := errors.AsType[*AlreadyClaimedError](err); ok {
		c.winners.add(o.CouponID, Order{ID: claimed.OrderID, UserID: o.UserID})
	}
	if err != nil {
		return Order{}, err
	}
	c.winners.add(o.CouponID, o)
	return o, nil
}

// Close returns when no transaction is running and all locks are released. A
// later Claim may return ErrUnavailable.
func (c *Claims) Close() {
	c.strategy.Close()
	c.releaser.close()
}
