// Package lock is a distributed lock: the contract that every driver keeps,
// and a Client that adds waiting, renewal, loss and release to any driver.
//
// A lease is a promise with an end, not a mutex. A process that is paused past
// the end of its lease (garbage collection, SIGSTOP, a slow disk) still
// believes that it holds the lock. The Client makes that rare and reports it;
// only the protected resource can make it harmless, by a fence, a unique key or
// a conditional write.
//
// The package knows no driver. Drivers are sub-packages, package driver holds
// what they share, and package locktest checks that each keeps the contract.
package lock

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// The two verdicts of a driver. Every other error leaves the outcome unknown.
var (
	// ErrLocked reports that another holder has the key.
	ErrLocked = errors.New("lock: held by another")
	// ErrLost reports that the lease has ended: it was released, it expired,
	// another holder took the key, or the server lost its data.
	ErrLost = errors.New("lock: lost")
)

// A LockedError is ErrLocked with what the server knows of the holder. A waiter
// then requests the key as soon as a lease that is not extended has ended.
type LockedError struct {
	// Left is how long the holder's lease lasts if it is not extended.
	Left time.Duration
}

// Locked returns a LockedError with left, or ErrLocked if left is not positive:
// the server does not know how long the holder's lease lasts.
func Locked(left time.Duration) error {
	if left <= 0 {
		return ErrLocked
	}
	return &LockedError{left}
}

// Error implements error.
func (e *LockedError) Error() string { return ErrLocked.Error() }

// Is reports whether target is ErrLocked.
func (e *LockedError) Is(target error) bool { return target == ErrLocked }

// A Locker requests leases from one lock service. It is safe for concurrent
// use.
type Locker interface {
	// TryLock requests the key once and does not wait for a holder. It returns
	// a lease that ends after ttl unless it is extended, ErrLocked (as a
	// LockedError if the service knows when the holder's lease ends), or an
	// error that leaves the outcome unknown. In that case the driver releases
	// what it may have got: it has tried that once, and repeats it in the
	// background if the service may run the request later. A request that the
	// client repeats because a reply was lost still yields the lease. A
	// cancelled ctx yields none. A ttl finer than the service's clock is
	// rounded up.
	//
	// The key and the ttl are valid for some driver: the Client has checked that.
	// ErrInvalid refuses a ttl that this service cannot keep.
	TryLock(ctx context.Context, key string, ttl time.Duration) (Lease, error)
}

// A Lease is one grant of one key to one owner. No two leases share an owner.
// It is safe for concurrent use: it may be released while it is extended.
type Lease interface {
	// Fence increases strictly from lease to lease of the same key. It is zero
	// if the driver cannot promise that.
	Fence() uint64
	// Extend moves the end of the lease to ttl from now. It returns ErrLost if
	// the lease has ended, and then leaves the next holder's lease unchanged.
	Extend(ctx context.Context, ttl time.Duration) error
	// Release ends the lease. It returns ErrLost if the lease had already
	// ended, and never ends the lease of another owner. A second Release
	// returns ErrLost.
	Release(ctx context.Context) error
}

// A Notifier is a Locker that reports when a key may have become free.
type Notifier interface {
	Locker
	// Notify sends on wake whenever key may have become free, once when it
	// begins to listen, and once after each interruption, until stop is
	// called. It never blocks, neither on wake nor on the network. A
	// notification may be missing or superfluous. An error says that there are
	// none of this key.
	Notify(key string, wake chan<- struct{}) (stop func(), err error)
}

// A BlockingLocker is a Locker whose service queues waiters itself, in its own
// order.
type BlockingLocker interface {
	Locker
	// Lock blocks until it has the lease or ctx ends. In the second case it
	// is no longer queued and returns an error that wraps the cause of ctx, and
	// ErrLocked if the service confirms that the key was held. If the service
	// does not reply, the outcome is unknown, as with TryLock. Lock calls
	// Queued once the service has refused the key.
	Lock(ctx context.Context, key string, ttl time.Duration) (Lease, error)
}

// Queued records that the service has refused the key to the call of
// BlockingLocker.Lock with ctx, which waits from now on. Until then, the outcome of
// this process's waiters behind it is unknown. Another ctx has no effect.
func Queued(ctx context.Context) {
	if q, ok := ctx.Value(queueKey{}).(*queue); ok {
		q.record(ErrLocked)
	}
}

type queueKey struct{}

// A Drainer is a Locker that repeats releases in the background, after requests
// whose outcome is unknown.
type Drainer interface {
	Locker
	// Drain sends each of these releases once more, and returns when the
	// service has replied to all of them or ctx ends. The Locker remains usable.
	Drain(ctx context.Context)
}

// A NotifyingLease knows whether the service refused to notify the waiters of its
// release. They poll then.
type NotifyingLease interface {
	Lease
	Unnotified() bool
}

// IsUnnotified reports whether l is a NotifyingLease and Unnotified.
func IsUnnotified(l Lease) bool {
	n, ok := l.(NotifyingLease)
	return ok && n.Unnotified()
}

// MaxKey is the length of the longest key that every driver accepts. memcached
// and GET_LOCK set the limit.
const MaxKey = 64

// ErrInvalid reports a key or an option that no driver can work with. It is a
// mistake of the caller.
var ErrInvalid = errors.New("lock: invalid")

// checkKey accepts 1 to MaxKey printable ASCII bytes without a space.
func checkKey(key string) error {
	if len(key) == 0 || len(key) > MaxKey {
		return fmt.Errorf("%w: key of %d bytes, want 1 to %d", ErrInvalid, len(key), MaxKey)
	}
	for i := range len(key) {
		if key[i] <= ' ' || key[i] > '~' {
			return fmt.Errorf("%w: key %q has a byte that is not printable ASCII", ErrInvalid, key)
		}
	}
	return nil
}
