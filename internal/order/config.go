package order

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/jmoiron/sqlx"

	"example.com/flashsale/internal/admission"
	"example.com/flashsale/internal/coupon"
	"example.com/flashsale/internal/idgen"
	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/tracing"
)

// Config holds the dependencies and settings of Claims.
type Config struct {
	DB      *sqlx.DB // opened with connect.ShortTransactions
	BatchDB *sqlx.DB // the same database, opened with connect.BriefLockWaits and connect.MultiStatements; for GroupCommit only
	// Standalone reports whether the server of BatchDB is outside of any cluster;
	// see connect.DetectCluster. GroupCommit then commits in a single round trip.
	// Without it, the server is taken for a member.
	Standalone func() bool
	Coupons    *coupon.Cache
	IDs        *idgen.Worker
	Locks      *lock.Client

	Scope    Scope         // what a claim locks
	LockTTL  time.Duration // after which the lock of a crashed instance expires
	LockWait time.Duration // longest wait for the lock with PerCoupon and PerSegment

	// Waits bounds how long a claim may wait until it runs.
	Waits admission.Limits

	Strategy Strategy // how orders are committed
	Observer Observer // optional
	Tracer   tracing.Tracer

	// Enter, unless it is nil, is called by each claim that has taken its lock.
	// The function that it returns is called before the claim releases the lock.
	// It is for the lab.
	Enter func(context.Context, Section) (leave func())
}

// Scope is what a claim locks.
type Scope string

// PerUser locks the user: a concurrent claim of the same user is refused.
// PerCoupon locks the coupon: concurrent claims of the coupon wait. PerSegment
// locks a segment of the coupon's stock: concurrent claims of the segment wait.
const (
	PerUser    Scope = "user"
	PerCoupon  Scope = "coupon"
	PerSegment Scope = "segment"
)

// New returns Claims as configured, or an error if c lacks a dependency or
// names an unknown Scope or Strategy.
func New(c Config) (*Claims, error) {
	if c.DB == nil || c.Coupons == nil || c.IDs == nil || c.Locks == nil {
		return nil, errors.New("order: the Config lacks a dependency")
	}
	c.Observer.setDefaults()
	strategy, err := newCommitter(c)
	if err != nil {
		return nil, err
	}
	claims := &Claims{
		coupons: c.Coupons, ids: c.IDs, locks: c.Locks,
		strategy: strategy,
		winners:  newWinners(c.DB),
		slots:    newSlots(maxRunning, c.Waits),
		refused:  c.Observer.Refused,
		tracer:   c.Tracer,
		options:  lock.Options{TTL: c.LockTTL, Class: LockClass},
		enter:    c.Enter,
	}
	switch c.Scope {
	case PerUser:
		claims.key = userKey
	case PerCoupon:
		claims.key, claims.options.Wait = couponKey, c.LockWait
	case PerSegment:
		claims.key, claims.options.Wait = segmentKey, c.LockWait
	default:
		return nil, fmt.Errorf("order: unknown lock scope %q", c.Scope)
	}
	return claims, nil
}

// LockClass is the class of a claim's lock.
const LockClass = "claim"

func userKey(userID int64, _ segment) string {
	return "redis_lock:userId:" + strconv.FormatInt(userID, 10)
}

func couponKey(_ int64, s segment) string {
	return "redis_lock:couponId:" + strconv.FormatInt(s.couponID, 10)
}

func segmentKey(userID int64, s segment) string {
	return couponKey(userID, s) + ":segment:" + strconv.Itoa(s.number)
}
