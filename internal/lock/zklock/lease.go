package zklock

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"

	"example.com/flashsale/internal/lock"
)

// cleanup bounds how long a caller waits for its unwanted node to be deleted.
const cleanup = 500 * time.Millisecond

// A lease is one node. The node's name begins with the lease's id, so that the
// node can be found when the reply with its full name was lost.
type lease struct {
	locker   *Locker
	key      string
	dir      string
	id       string
	name     string // within dir; empty until known
	fence    uint64
	lost     <-chan struct{}
	released atomic.Bool
}

// Fence implements lock.Lease.
func (l *lease) Fence() uint64 { return l.fence }

// Lost implements lock.WatchedLease. The channel is closed when the session is lost.
func (l *lease) Lost() <-chan struct{} { return l.lost }

// Extend implements lock.Lease. The lease has no end that could be moved, so
// Extend only checks that session and node still exist.
func (l *lease) Extend(ctx context.Context, ttl time.Duration) error {
	if l.released.Load() || isClosed(l.lost) {
		return lock.ErrLost
	}
	exists, err := await(ctx, func() (bool, error) {
		exists, _, err := l.locker.conn.Exists(l.path())
		return exists, err
	})
	if err != nil {
		return fmt.Errorf("zklock: extend %s: %w", l.key, err)
	}
	if !exists || isClosed(l.lost) {
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
	lost := isClosed(l.lost)
	_, err := await(ctx, func() (struct{}, error) { return struct{}{}, l.locker.conn.Delete(l.path(), -1) })
	switch {
	case errors.Is(err, zk.ErrNoNode):
		return lock.ErrLost
	case err != nil:
		go l.deleteEventually()
		err = fmt.Errorf("zklock: release %s: %w", l.key, err)
	}
	if lost {
		return errors.Join(lock.ErrLost, err)
	}
	return err
}

func (l *lease) path() string { return l.dir + "/" + l.name }
