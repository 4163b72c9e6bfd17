package order

import (
	"context"
	"fmt"
	"slices"
	"time"

	"example.com/flashsale/internal/admission/slots"
	"example.com/flashsale/internal/batchread"
	"example.com/flashsale/internal/coupon"
	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/observe/tracing"
)

// A Committer writes orders. Package order/commit has one for each strategy.
type Committer interface {
	// Commit returns nil once o, which takes a unit of s, is durable. Its errors
	// are coupon.ErrSoldOut if s is empty, *AlreadyClaimedError, ErrIDTaken, or
	// any other if the outcome is unknown or nothing was committed.
	Commit(ctx context.Context, s Segment, o Order) error
	// Refill moves stock to a segment that is empty from the one with the most. It
	// returns nil if the segment may have stock then, and coupon.ErrSoldOut if the
	// coupon had none at one instant, neither in a segment nor on its way to one.
	Refill(ctx context.Context, s Segment, alone Alone) error
	// Close returns when no transaction is running that has outlived its Commit.
	Close()
}

// Alone does what changes a segment's stock, while no claim of it has the lock.
type Alone func(ctx context.Context, s Segment, do func(context.Context) error) error

// Winners knows who has an order. It may know too few; it knows too many for no longer
// than a coupon is cached. Package order/winners implements it.
type Winners interface {
	// Find returns the claimant's order if it is known without a query.
	Find(c coupon.Coupon, by Claimant) (orderID int64, found bool)
	// Add notes an order that was durable after c was read.
	Add(c coupon.Coupon, by Claimant, orderID int64)
	// CheckSoldOut returns the verdict on a claim of a coupon that was seen sold
	// out, and the precheck that found it: *AlreadyClaimedError if the claimant has
	// an order, or coupon.ErrSoldOut. The verdict is nil if the database shows
	// units left, or an older version than c: only a transaction can then decide, for
	// the user may have an order that the server lacks that was read.
	CheckSoldOut(ctx context.Context, c coupon.Coupon, by Claimant) (Precheck, error)
	// Close ends what reads all orders of a coupon, and returns when it has ended.
	Close()
}

// IDs makes the ids of orders. Package idgen implements it.
type IDs interface {
	// Next returns an id that no other order has, as far as possible: see ErrIDTaken.
	Next(ctx context.Context) (int64, error)
}

// Config holds the dependencies and settings of Claims.
type Config struct {
	Coupons   *coupon.Cache
	Winners   Winners
	Committer Committer
	IDs       IDs
	Locks     *lock.Client

	Scope    Scope         // what a claim locks
	LockTTL  time.Duration // after which the lock of a crashed instance expires
	LockWait time.Duration // longest wait for the lock with PerCoupon and PerSegment
	// LockPrefix begins the key of every lock. With it a key has up to 50 bytes more.
	LockPrefix string

	// Running bounds the claims that run at a time; 0 means MaxRunning.
	Running int
	// StuckAfter is when claims no longer wait for a slot of a coupon of which none ends;
	// 0 is never.
	StuckAfter time.Duration

	// Now is the clock of windows and orders; nil means the instance's own.
	Now func() time.Time

	Refused func(Precheck) // optional; called for each claim that a precheck refuses, by several goroutines at once
	Tracer  tracing.Tracer

	// Enter, unless it is nil, is called by each claim that has taken its lock.
	// The function that it returns is called before the claim releases the lock.
	// It is for the lab.
	Enter func(context.Context, Section) (leave func())
}

// MaxRunning is how many claims run at a time; half of it for one coupon. So many
// fill a batch of a group commit.
const MaxRunning = 1024

// StuckAfter is Config.StuckAfter of the service.
const StuckAfter = 500 * time.Millisecond

// New returns Claims as configured, or an error if c names an unknown Scope.
func New(c Config) (*Claims, error) {
	if c.Refused == nil {
		c.Refused = func(Precheck) {}
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Running == 0 {
		c.Running = MaxRunning
	}
	if !slices.Contains([]Scope{PerUser, PerCoupon, PerSegment}, c.Scope) {
		return nil, fmt.Errorf("order: unknown lock scope %q", c.Scope)
	}
	claims := &Claims{cfg: c, slots: slots.New(c.Running, c.StuckAfter),
		options: lock.Options{TTL: c.LockTTL, Class: LockClass}}
	claims.refills = batchread.New(slowRefill, claims.refill)
	if c.Scope != PerUser {
		claims.options.Wait = c.LockWait
	}
	return claims, nil
}
