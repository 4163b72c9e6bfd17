package zklock

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"example.com/flashsale/internal/lock"
)

// A queue is the names of the holder and its waiters, in sequence, together
// with the data version of their directory.
type queue struct {
	names   []string
	version int32
}

// The data version of a directory. Creating a lease's node raises it.
const (
	anyVersion   = -1 // as a condition: always met
	firstVersion = 0  // of a directory that is yet to be created
)

// tryLock creates the node only if the queue is empty. The condition is the
// directory's version as read together with the empty queue.
func (l *lease) tryLock(ctx context.Context) error {
	for {
		q, err := await(ctx, l.readQueue)
		if err != nil {
			return err
		}
		if len(q.names) > 0 {
			return lock.ErrLocked
		}
		if err := l.createNode(ctx, q.version); !errors.Is(err, zk.ErrBadVersion) {
			return err
		}
	}
}

// lock creates the node and waits until it is the first of the queue. It
// continues after a lost connection, because the node, and its place in the
// queue, lives as long as the session.
func (l *lease) lock(ctx context.Context) error {
	err := l.createNode(ctx, anyVersion)
	for err == nil {
		var predecessor string
		if predecessor, err = await(ctx, l.predecessor); err == nil && predecessor == "" {
			return nil
		}
		if err == nil {
			err = l.watch(ctx, predecessor)
		}
		if isConnectionLoss(err) {
			err = l.pause(ctx)
		}
	}
	if ctx.Err() != nil {
		return errors.Join(lock.ErrLocked, context.Cause(ctx))
	}
	return err
}

// predecessor returns the name before the lease's own, or "" if the lease is
// first. It returns errSessionLost if the lease's node does not exist.
func (l *lease) predecessor() (string, error) {
	q, err := l.readQueue()
	if err != nil {
		return "", err
	}
	switch i := slices.Index(q.names, l.name); i {
	case -1:
		return "", errSessionLost
	case 0:
		return "", nil
	default:
		return q.names[i-1], nil
	}
}

func (l *lease) readQueue() (queue, error) {
	names, stat, err := l.locker.conn.Children(l.dir)
	if errors.Is(err, zk.ErrNoNode) {
		return queue{version: firstVersion}, nil
	}
	if err != nil {
		return queue{}, err
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Compare(sequence(a), sequence(b)) })
	return queue{names, stat.Version}, nil
}

// sequence is the counter that ZooKeeper has appended to name.
func sequence(name string) string { return name[strings.LastIndexByte(name, '-')+1:] }

// watch returns when the predecessor's node may have been deleted.
func (l *lease) watch(ctx context.Context, predecessor string) error {
	event, err := await(ctx, func() (<-chan zk.Event, error) {
		exists, _, event, err := l.locker.conn.ExistsW(l.dir + "/" + predecessor)
		if !exists {
			return nil, err
		}
		return event, err
	})
	if err != nil || event == nil {
		return err
	}
	select {
	case <-event:
		return nil
	case <-l.lost:
		return errSessionLost
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// pause gives the client a moment to reconnect.
func (l *lease) pause(ctx context.Context) error {
	select {
	case <-time.After(50 * time.Millisecond):
		return nil
	case <-l.lost:
		return errSessionLost
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func isConnectionLoss(err error) bool {
	return errors.Is(err, zk.ErrConnectionClosed) || errors.Is(err, zk.ErrNoServer)
}
