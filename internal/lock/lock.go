// Package lock is a distributed lock: the contract that every driver keeps,
// and the policy (waiting, renewing, losing, letting go) written once for all
// of them.
//
// A lease is a promise with an end, not a mutex: a process that is paused past
// its lease (garbage collection, SIGSTOP, a slow disk) still believes it holds
// it. The lock makes that rare and visible; only the resource itself, by a
// fence, a unique key or a conditional write, can make it harmless.
//
// The core knows no driver. Drivers are sub-packages, and locktest is the
// contract as a suite that each of them runs.
package lock

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// The two verdicts. Every other error means that the outcome is unknown.
var (
	// ErrLocked reports that another holder has the key.
	ErrLocked = errors.New("lock: held by another")
	// ErrLost says that the lease is no longer ours: released, expired,
	// taken over, or gone with the server's data.
	ErrLost = errors.New("lock: lost")
)

// A Locker asks one lock service for leases. It is safe for concurrent use,
// and comparable: the policy keeps one queue per locker and key.
type Locker interface {
	// TryLock asks once for key and never waits for a holder. It returns a
	// lease that ends after ttl unless extended, ErrLocked, or an error that
	// leaves the outcome unknown; the driver then has already tried to let go
	// of whatever it may have got. A lost reply that the client retries must
	// still yield the lease. A cancelled ctx grants nothing. A ttl that fails
	// CheckTTL is refused; one finer than the service can keep is rounded up.
	TryLock(ctx context.Context, key string, ttl time.Duration) (Lease, error)
}

// A Lease is one grant of one key to one holder. No two leases share an owner.
// It is safe for concurrent use: it may be released while it is extended.
type Lease interface {
	// Fence rises strictly from lease to lease of the same key. Zero means
	// that the driver cannot promise that.
	Fence() uint64
	// Extend sets the lease's end to ttl from now, or reports ErrLost and
	// leaves the next holder alone.
	Extend(ctx context.Context, ttl time.Duration) error
	// Release lets go, or reports ErrLost if there was nothing of ours left
	// to let go of. It never frees another's lease. A second Release is
	// ErrLost.
	Release(ctx context.Context) error
}

// A Notifier is a Locker that can tell when a key may have become free.
type Notifier interface {
	Locker
	// Notify sends on wake, without ever blocking, whenever key may have
	// become free, once when it begins to listen and again after each
	// interruption, until stop is called. A hint may be missing or too many;
	// it is never the lock itself.
	Notify(key string, wake chan<- struct{}) (stop func(), err error)
}

// A BlockingLocker is a Locker that can wait for a key in its own service, in that
// service's own order.
type BlockingLocker interface {
	Locker
	// Lock waits until it has the lease or ctx ends; it then returns an
	// error that wraps ErrLocked and the cause of ctx, and is no longer queued.
	Lock(ctx context.Context, key string, ttl time.Duration) (Lease, error)
}

// A BatchExtender is a Locker that extends many leases in few round trips.
type BatchExtender interface {
	Locker
	// ExtendAll extends leases that this locker gave, to ttl from now, and
	// returns one result for each: nil, ErrLost or unknown.
	ExtendAll(ctx context.Context, ttl time.Duration, leases []Lease) []error
}

// A Watched lease learns of its own loss without being asked, as one bound to
// a session does. The channel is closed when the lease is lost.
type Watched interface {
	Lease
	Lost() <-chan struct{}
}

// MaxKey is the longest key that every driver takes: the meet of memcached's
// and GET_LOCK's limits.
const MaxKey = 64

// CheckKey reports why key cannot be a lock's name: it must be 1 to 64
// printable ASCII bytes without a space.
func CheckKey(key string) error {
	if len(key) == 0 || len(key) > MaxKey {
		return fmt.Errorf("lock: key of %d bytes, want 1 to %d", len(key), MaxKey)
	}
	for i := range len(key) {
		if key[i] <= ' ' || key[i] > '~' {
			return fmt.Errorf("lock: key %q has a byte that is not printable ASCII", key)
		}
	}
	return nil
}

// CheckTTL reports why ttl cannot be the time of a lease: it must be at least
// a millisecond, for less would be gone before its owner heard of it.
func CheckTTL(ttl time.Duration) error {
	if ttl < time.Millisecond {
		return fmt.Errorf("lock: ttl of %s, want at least 1ms", ttl)
	}
	return nil
}
