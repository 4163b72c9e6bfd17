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

// cleanup bounds how long a caller waits for what it no longer wants to go.
const cleanup = 2 * time.Second

// A lease is one node. Its id is part of the node's name, by which it is found
// when the reply that would have told the rest of the name was lost.
type lease struct {
	locker *Locker
	key    string
	dir    string
	id     string
	name   string // within dir; empty until known
	fence  uint64
	lost   <-chan struct{}
	over   atomic.Bool
}

// Fence implements lock.Lease.
func (l *lease) Fence() uint64 { return l.fence }

// Lost implements lock.Watched: it tells of the session's end.
func (l *lease) Lost() <-chan struct{} { return l.lost }

// Extend implements lock.Lease. There is no end to move, so it only makes sure
// of session and node.
func (l *lease) Extend(ctx context.Context, ttl time.Duration) error {
	if err := lock.CheckTTL(ttl); err != nil {
		return err
	}
	if l.over.Load() || isClosed(l.lost) {
		return lock.ErrLost
	}
	there, err := await(ctx, func() (bool, error) {
		there, _, err := l.locker.conn.Exists(l.path())
		return there, err
	})
	if err != nil {
		return fmt.Errorf("zklock: extend %s: %w", l.key, err)
	}
	if !there || isClosed(l.lost) {
		return lock.ErrLost
	}
	return nil
}

// Release implements lock.Lease. If its outcome is unknown, the node is
// deleted in the background, as soon as that is possible: it would last as
// long as the session otherwise.
func (l *lease) Release(ctx context.Context) error {
	if l.over.Swap(true) {
		return lock.ErrLost
	}
	lost := isClosed(l.lost)
	_, err := await(ctx, func() (struct{}, error) { return struct{}{}, l.locker.conn.Delete(l.path(), -1) })
	switch {
	case errors.Is(err, zk.ErrNoNode):
		return lock.ErrLost
	case err != nil:
		go l.forget()
		err = fmt.Errorf("zklock: release %s: %w", l.key, err)
	}
	if lost {
		return errors.Join(lock.ErrLost, err)
	}
	return err
}

func (l *lease) path() string { return l.dir + "/" + l.name }

// abandon deletes whatever node of ours there may be, now or as soon as
// possible.
func (l *lease) abandon() {
	ctx, cancel := context.WithTimeout(context.Background(), cleanup)
	defer cancel()
	if _, err := await(ctx, l.remove); err != nil {
		go l.forget()
	}
}

// forget does not give up before our node is gone, or the session.
func (l *lease) forget() {
	for pause := 10 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		if _, err := l.remove(); err == nil {
			return
		}
		select {
		case <-l.locker.closed:
			return
		case <-time.After(pause):
		}
	}
}

// remove deletes our node, by its id.
func (l *lease) remove() (struct{}, error) {
	dir, err := l.look()
	for _, name := range dir.line {
		if l.owns(name) {
			err = l.locker.conn.Delete(l.dir+"/"+name, -1)
		}
	}
	if errors.Is(err, zk.ErrNoNode) {
		err = nil
	}
	return struct{}{}, err
}
