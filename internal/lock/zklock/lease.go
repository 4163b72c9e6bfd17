package zklock

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/lock/driver"
)

// A lease is one node. The node's name begins with the lease's id.
type lease struct {
	locker   *Locker
	key      string
	dir      string
	id       string
	name     string // within dir; empty until known
	fence    uint64
	lost     <-chan struct{}
	released atomic.Bool

	requestedAt time.Time
	sent        atomic.Bool  // the request to create the node
	uncertain   bool         // that request may have been executed twice
	ahead       atomic.Int64 // how many nodes were before its own when the queue was read last
}

// newLease returns a lease that has no node yet. It waits for a connection,
// which decides the session that the lease belongs to.
func (l *Locker) newLease(ctx context.Context, key string) (*lease, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	connected, lost := l.session.states()
	select {
	case <-connected:
	case <-lost:
		return nil, errNoSession
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	_, lost = l.session.states()
	return &lease{locker: l, key: key, dir: directory(key), id: newID(), lost: lost, requestedAt: time.Now()}, nil
}

// acquire gets the lock by method. After a failure it removes the node.
func (l *lease) acquire(ctx context.Context, ttl time.Duration, method func(*lease, context.Context) error) error {
	err := l.locker.checkTTL(ttl)
	if err == nil {
		err = method(l, ctx)
	}
	if err == nil && !l.locker.session.believes(l.lost) {
		err = errSessionLost
	}
	if err == nil {
		return nil
	}
	if replied := l.withdraw(ctx, err); replied && l.ahead.Load() > 0 && ctx.Err() != nil {
		return errors.Join(lock.ErrLocked, context.Cause(ctx))
	}
	return err
}

// cleanup bounds how long a refused caller waits for its node to be deleted.
const cleanup = 500 * time.Millisecond

// withdraw deletes the node, if there may be one, even after the end of ctx. If
// that fails, or if the node may be created later, it is repeated in the
// background. It reports whether the server has replied.
func (l *lease) withdraw(ctx context.Context, err error) (replied bool) {
	if !l.sent.Load() {
		return true
	}
	if errors.Is(err, lock.ErrLocked) && !l.uncertain {
		ctx, cancel := driver.Cleanup(ctx, cleanup)
		defer cancel()
		if _, err := l.deleteNode(ctx, l.name); err == nil {
			return true
		}
	}
	var confirmed atomic.Bool
	l.locker.abandoned.Release(ctx, l.requestedAt, func(ctx context.Context) error {
		err := l.deleteNodes(ctx)
		confirmed.Store(err == nil)
		return err
	})
	return confirmed.Load()
}

// Fence implements lock.Lease.
func (l *lease) Fence() uint64 { return l.fence }

// Extend implements lock.Lease. The lease has no end that could be moved, so
// Extend only checks that session and node still exist.
func (l *lease) Extend(ctx context.Context, ttl time.Duration) error {
	if l.released.Load() || !l.locker.session.believes(l.lost) {
		return lock.ErrLost
	}
	if err := l.locker.checkTTL(ttl); err != nil {
		return err
	}
	exists, err := request(ctx, l.locker, func() (bool, error) {
		exists, _, err := l.locker.conn.Exists(l.path())
		return exists, err
	})
	if err != nil {
		return fmt.Errorf("zklock: extend %s: %w", l.key, err)
	}
	if !exists || !l.locker.session.believes(l.lost) {
		return lock.ErrLost
	}
	return nil
}

// Release implements lock.Lease. If the outcome is unknown, the node is
// deleted in the background, because it would last as long as the session
// otherwise.
func (l *lease) Release(ctx context.Context) error {
	if l.released.Swap(true) {
		return lock.ErrLost
	}
	start := time.Now()
	found, err := l.deleteNode(ctx, l.name)
	if err != nil || l.uncertain {
		l.locker.abandoned.Release(ctx, start, l.deleteNodes)
	}
	if err != nil {
		err = fmt.Errorf("zklock: release %s: %w", l.key, err)
	}
	if err == nil && !found || isClosed(l.lost) {
		return errors.Join(lock.ErrLost, err)
	}
	return err
}

func (l *lease) path() string { return l.dir + "/" + l.name }
