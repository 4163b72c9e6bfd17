package redisson

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/lock/driver"
)

// A Part is one of the locks of an RMultiLock.
type Part struct {
	Locker lock.Locker
	Key    string // empty: the key that is passed to the RMultiLock
}

// An RMultiLock is Redisson's RMultiLock: it acquires all of its parts or none.
// It has no key of its own, so the parts can be any locks, on one or several
// servers. Its leases have no fence.
//
// The parts are acquired one after another in the given order, and none waits
// while another is held. Two callers with different orders cannot deadlock, but
// they can refuse each other repeatedly. Use the same order everywhere, in Java
// too.
type RMultiLock struct {
	parts     []Part
	abandoned driver.Abandoned
}

// NewMultiLock returns a lock of the parts, at least one. A part that is given
// twice counts once. The Locker of each part must be comparable.
func NewMultiLock(parts ...Part) *RMultiLock {
	m := &RMultiLock{}
	for _, part := range parts {
		if !slices.Contains(m.parts, part) {
			m.parts = append(m.parts, part)
		}
	}
	return m
}

// TryLock implements lock.Locker. It sends two requests per part. When every
// part has a Key of its own, key only names the local queue of package lock.
func (m *RMultiLock) TryLock(ctx context.Context, key string, ttl time.Duration) (lock.Lease, error) {
	var acquired multiLease
	for _, part := range m.parts {
		lease, err := part.Locker.TryLock(ctx, part.key(key), ttl)
		if err != nil {
			m.abandon(ctx, acquired.parts)
			return nil, err
		}
		acquired.parts = append(acquired.parts, lease)
	}
	// The parts were acquired at different times. Extend them all, so that the
	// ttl is counted from the same time.
	if err := acquired.Extend(ctx, ttl); err != nil {
		m.abandon(ctx, acquired.parts)
		// %v: a part that was lost is an unknown outcome here, not ErrLost.
		return nil, fmt.Errorf("redisson: acquire all parts of %s: %v", key, err) //nolint:errorlint // see above
	}
	return &acquired, nil
}

// Drain implements lock.Drainer, also for the parts that implement it.
func (m *RMultiLock) Drain(ctx context.Context) {
	m.abandoned.Drain(ctx)
	for _, part := range m.parts {
		if drainer, ok := part.Locker.(lock.Drainer); ok {
			drainer.Drain(ctx)
		}
	}
}

// errSilentPart reports a part whose release is not notified.
var errSilentPart = errors.New("redisson: a part of the lock does not notify")

// Notify implements lock.Notifier, if all of the parts do. Otherwise a waiter polls.
func (m *RMultiLock) Notify(key string, wake chan<- struct{}) (stop func(), err error) {
	var stops []func()
	stopAll := func() {
		for _, stop := range stops {
			stop()
		}
	}
	for _, part := range m.parts {
		err := errSilentPart
		if notifier, ok := part.Locker.(lock.Notifier); ok {
			stop, err = notifier.Notify(part.key(key), wake)
		}
		if err != nil {
			stopAll()
			return nil, err
		}
		stops = append(stops, stop)
	}
	return stopAll, nil
}

func (p Part) key(multiLockKey string) string { return cmp.Or(p.Key, multiLockKey) }

// A multiLease is lost when one of its parts is lost.
type multiLease struct{ parts []lock.Lease }

// Fence implements lock.Lease: there is none.
func (*multiLease) Fence() uint64 { return 0 }

// Unnotified implements lock.NotifyingLease.
func (m *multiLease) Unnotified() bool { return slices.ContainsFunc(m.parts, lock.IsUnnotified) }

// Extend implements lock.Lease.
func (m *multiLease) Extend(ctx context.Context, ttl time.Duration) error {
	return m.each(func(part lock.Lease) error { return part.Extend(ctx, ttl) })
}

// Release releases every part, also when one of them is lost.
func (m *multiLease) Release(ctx context.Context) error {
	return m.each(func(part lock.Lease) error { return part.Release(ctx) })
}

// each calls f for every part in reverse order: others acquire the first part
// first, so it is released last. It joins the errors; one lost part makes the
// result lock.ErrLost.
func (m *multiLease) each(f func(lock.Lease) error) error {
	var errs []error
	for _, part := range slices.Backward(m.parts) {
		errs = append(errs, f(part))
	}
	return errors.Join(errs...)
}

// abandon releases parts, in the background until all of their servers have
// replied. A server that does not reply delays no other part.
func (m *RMultiLock) abandon(ctx context.Context, parts []lock.Lease) {
	m.abandoned.Release(ctx, time.Now(), func(ctx context.Context) error {
		outcomes := make([]error, len(parts))
		var releases sync.WaitGroup
		for i, part := range parts {
			releases.Go(func() { outcomes[i] = part.Release(ctx) })
		}
		releases.Wait()
		lost := func(err error) bool { return errors.Is(err, lock.ErrLost) }
		return errors.Join(slices.DeleteFunc(outcomes, lost)...)
	})
}
