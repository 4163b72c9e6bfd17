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

// Claims takes claims. It is safe for concurrent use, and any number of
// instances may take claims on one database.
type Claims struct {
	coupons  *coupon.Cache
	ids      *idgen.Worker
	strategy committer
	owners   *owners
	locker   lock.Locker
	key      func(userID, couponID int64) string
	lock     lock.Options
	leaving  leaving
}

// Config says how Claims locks and commits.
type Config struct {
	DB      *sqlx.DB
	Batches *sqlx.DB // the same, open for several statements at once; for Grouped only
	Coupons *coupon.Cache
	IDs     *idgen.Worker
	Locker  lock.Locker

	Scope    Scope            // whom a lock excludes
	LockTTL  time.Duration    // how long a lock outlives an instance that died
	LockWait time.Duration    // how long a claim waits for a lock of PerCoupon
	Observe  func(lock.Event) // may be nil

	Strategy Strategy // how orders are committed
}

// Scope is what a claim locks.
type Scope string

// A claim locks its user, and a second one of the same user is refused; or it
// locks the coupon, and the others wait.
const (
	PerUser   Scope = "user"
	PerCoupon Scope = "coupon"
)

// New returns Claims as c says.
func New(c Config) *Claims {
	claims := &Claims{
		coupons: c.Coupons, ids: c.IDs, locker: c.Locker,
		strategy: newCommitter(c.Strategy, c.DB, c.Batches),
		owners:   newOwners(c.DB),
		key:      userKey,
		lock:     lock.Options{TTL: c.LockTTL, Class: "claim", Observe: c.Observe},
	}
	if c.Scope == PerCoupon {
		claims.key, claims.lock.Wait = couponKey, c.LockWait
	}
	return claims
}

func userKey(userID, _ int64) string { return "redis_lock:userId:" + strconv.FormatInt(userID, 10) }
func couponKey(_, couponID int64) string {
	return "redis_lock:couponId:" + strconv.FormatInt(couponID, 10)
}

// Claim gets one coupon for one user, durably, or says why not: a verdict of
// this package or of package coupon, or ErrUnavailable if the outcome is not
// known by the time that ctx ends.
func (c *Claims) Claim(ctx context.Context, userID, couponID int64) (Order, error) {
	o, err := c.claim(ctx, userID, couponID)
	if err != nil && !verdict(err) {
		err = fmt.Errorf("%w: claim of coupon %d for user %d: %w", ErrUnavailable, couponID, userID, err)
	}
	return o, err
}

func verdict(err error) bool {
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
	on, err := c.coupons.Find(ctx, couponID)
	if err != nil {
		return Order{}, err
	}
	if err := c.refuse(ctx, on, userID, now); err != nil {
		return Order{}, err
	}
	held, err := lock.Acquire(ctx, c.locker, c.key(userID, couponID), c.lock)
	if errors.Is(err, lock.ErrLocked) {
		return Order{}, ErrClaimInProgress
	}
	if err != nil {
		return Order{}, err
	}
	defer func() {
		left := c.leaving.letGo(held)
		if verdict(err) {
			select { // who was refused may try again at once, and at another instance
			case <-left:
			case <-ctx.Done():
			}
		}
	}()
	return c.make(held.Context(), Order{CouponID: couponID, UserID: userID, CreatedAt: now})
}

// refuse reports the verdict that needs no transaction, if there is one. A user
// who has an order is told so even when the coupon is sold out: that may be the
// client whose answer got lost.
func (c *Claims) refuse(ctx context.Context, on coupon.Coupon, userID int64, now time.Time) error {
	err := on.Open(now)
	if err != nil && !errors.Is(err, coupon.ErrSoldOut) {
		return err
	}
	orderID, known := c.owners.find(on.ID, userID)
	if !known && err != nil {
		var lookErr error
		if orderID, known, lookErr = c.owners.findAmongAll(ctx, on, userID); lookErr != nil {
			return lookErr
		}
	}
	if known {
		return &AlreadyClaimedError{OrderID: orderID}
	}
	return err
}

// idTries bounds how often a taken id is replaced: the id worker promises that
// none is, but for the double faults that it names.
const idTries = 3

// make gives o an id, commits it, and notes what came of it.
func (c *Claims) make(ctx context.Context, o Order) (Order, error) {
	var err error
	for try := 0; try == 0 || errors.Is(err, errIDTaken) && try < idTries; try++ {
		if o.ID, err = c.ids.Next(ctx); err != nil {
			return Order{}, err
		}
		err = c.strategy.Commit(ctx, o)
	}
	if errors.Is(err, coupon.ErrSoldOut) {
		c.coupons.SoldOut(o.CouponID)
	}
	if again, ok := errors.AsType[*AlreadyClaimedError](err); ok {
		c.owners.add(o.CouponID, Order{ID: again.OrderID, UserID: o.UserID})
	}
	if err != nil {
		return Order{}, err
	}
	c.owners.add(o.CouponID, o)
	return o, nil
}

// Close returns when no transaction is under way and no lock is left. A claim
// that comes after it may be refused as ErrUnavailable.
func (c *Claims) Close() {
	c.strategy.Close()
	c.leaving.close()
}
