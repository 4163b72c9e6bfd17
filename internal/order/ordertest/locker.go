package ordertest

import (
	"context"
	"time"

	"example.com/flashsale/internal/lock"
)

// A Locker calls what a test wants to happen with each step of a lock. What is nil does nothing.
type Locker struct {
	lock.Locker
	Try     func(key string) error // before a request, which its error refuses
	Extend  func() error           // instead of the extension
	Release func(key string)       // before the release
}

// TryLock implements lock.Locker.
func (l *Locker) TryLock(ctx context.Context, key string, ttl time.Duration) (lock.Lease, error) {
	if l.Try != nil {
		if err := l.Try(key); err != nil {
			return nil, err
		}
	}
	lease, err := l.Locker.TryLock(ctx, key, ttl)
	return lockerLease{lease, l, key}, err
}

type lockerLease struct {
	lock.Lease
	locker *Locker
	key    string
}

// Extend implements lock.Lease.
func (l lockerLease) Extend(ctx context.Context, ttl time.Duration) error {
	if l.locker.Extend != nil {
		return l.locker.Extend()
	}
	return l.Lease.Extend(ctx, ttl)
}

// Release implements lock.Lease.
func (l lockerLease) Release(ctx context.Context) error {
	if l.locker.Release != nil {
		l.locker.Release(l.key)
	}
	return l.Lease.Release(ctx)
}
