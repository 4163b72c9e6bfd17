package redisson

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"example.com/flashsale/internal/lock"
)

// A Part is one of the locks that an RMultiLock takes together.
type Part struct {
	Locker lock.Locker
	Key    string // empty: the key that the RMultiLock is asked for
}

// An RMultiLock is Redisson's RMultiLock: all of its parts or none. It has no
// key on the server, so any locks will do, on one server or on several.
//
// The parts are taken in the order given, one after another. Since none waits
// while it holds another, two callers with different orders cannot block each
// other for good, but they can keep each other busy: give the same order
// everywhere, in Java too. Its leases have no fence.
type RMultiLock struct{ parts []Part }

// NewMultiLock joins parts, at least one. A part that is given twice counts once.
func NewMultiLock(parts ...Part) *RMultiLock {
	m := &RMultiLock{}
	for _, part := range parts {
		if !slices.Contains(m.parts, part) {
			m.parts = append(m.parts, part)
		}
	}
	return m
}

// TryLock implements lock.Locker; it costs each part two calls. With parts that bring their own keys, key is
// only the name by which callers queue.
func (m *RMultiLock) TryLock(ctx context.Context, key string, ttl time.Duration) (lock.Lease, error) {
	var held multiLease
	for _, part := range m.parts {
		lease, err := part.Locker.TryLock(ctx, part.key(key), ttl)
		if err != nil {
			held.abandon(ctx)
			return nil, err
		}
		held.parts = append(held.parts, lease)
	}
	// The first part must not be the first to end either.
	if err := held.Extend(ctx, ttl); err != nil {
		held.abandon(ctx)
		return nil, fmt.Errorf("redisson: take all of %s: %v", key, err) // no verdict, not even if lost
	}
	return &held, nil
}

// Notify implements lock.Notifier for the parts that do.
func (m *RMultiLock) Notify(key string, wake chan<- struct{}) (stop func(), err error) {
	var stops []func()
	all := func() {
		for _, stop := range stops {
			stop()
		}
	}
	for _, part := range m.parts {
		notifier, ok := part.Locker.(lock.Notifier)
		if !ok {
			continue
		}
		one, err := notifier.Notify(part.key(key), wake)
		if err != nil {
			all()
			return nil, err
		}
		stops = append(stops, one)
	}
	return all, nil
}

func (p Part) key(asked string) string {
	if p.Key == "" {
		return asked
	}
	return p.Key
}

// A multiLease is lost when one of its parts is.
type multiLease struct{ parts []lock.Lease }

func (*multiLease) Fence() uint64 { return 0 }

// Extend implements lock.Lease.
func (m *multiLease) Extend(ctx context.Context, ttl time.Duration) error {
	return m.each(func(part lock.Lease) error { return part.Extend(ctx, ttl) })
}

// Release lets go of every part, also when one of them is lost.
func (m *multiLease) Release(ctx context.Context) error {
	return m.each(func(part lock.Lease) error { return part.Release(ctx) })
}

// each goes backwards, so that the part which others ask for first is the last
// one to be free, and joins what the parts say: a loss beside an unknown outcome
// is a loss.
func (m *multiLease) each(do func(lock.Lease) error) error {
	var errs []error
	for _, part := range slices.Backward(m.parts) {
		errs = append(errs, do(part))
	}
	return errors.Join(errs...)
}

func (m *multiLease) abandon(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
	defer cancel()
	_ = m.Release(ctx)
}
