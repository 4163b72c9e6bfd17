package zklock

import (
	"cmp"
	"context"
	"errors"
	"regexp"
	"slices"
	"strconv"

	"github.com/go-zookeeper/zk"

	"example.com/flashsale/internal/lock"
)

// A queue is the names of the holder and its waiters, in sequence.
type queue []string

// readQueue returns the queue of the lease's lock. Other nodes in its directory are
// not in it.
func (l *lease) readQueue(ctx context.Context) (queue, error) {
	names, err := repeat(ctx, l.locker, func() ([]string, error) {
		names, _, err := l.locker.conn.Children(l.dir)
		return names, err
	})
	if errors.Is(err, zk.ErrNoNode) {
		return nil, nil
	}
	names = slices.DeleteFunc(names, func(name string) bool { _, ok := sequence(name); return !ok })
	slices.SortFunc(names, bySequence)
	return names, err
}

// lockNode matches the nodes of Curator's locks, and of clients that write no id
// before the lock's own name.
var lockNode = regexp.MustCompile(`^(?:_c_.+-)?(?:lock-|__READ__|__WRIT__)(-?[0-9]{9,10})$`)

// sequence returns the counter that ZooKeeper has appended to the name of a lock's
// node, or false if the node is none.
func sequence(name string) (int32, bool) {
	match := lockNode.FindStringSubmatch(name)
	if match == nil {
		return 0, false
	}
	n, err := strconv.ParseInt(match[1], 10, 32)
	return int32(n), err == nil
}

// bySequence compares two counters, which wrap around after 2^31-1: the later one is
// less than 2^31 steps ahead.
func bySequence(a, b string) int {
	m, _ := sequence(a)
	n, _ := sequence(b)
	return cmp.Compare(m-n, 0)
}

// tryLock joins the queue if it is empty, and has the lock if it is first.
func (l *lease) tryLock(ctx context.Context) error {
	q, err := l.readQueue(ctx)
	if err != nil {
		return err
	}
	if len(q) > 0 {
		return lock.ErrLocked // without a node that others would have to wait for
	}
	predecessor, err := l.join(ctx)
	if err == nil && predecessor != "" {
		return lock.ErrLocked
	}
	return err
}

// lock joins the queue and waits until it is first. It continues after a lost
// connection, because the node, and its place in the queue, lives as long as
// the session. The one behind the holder is first when the holder's node has been
// deleted, and need not ask again: every later node comes behind it.
func (l *lease) lock(ctx context.Context) error {
	predecessor, err := l.join(ctx)
	for err == nil && predecessor != "" {
		lock.Queued(ctx)
		var deleted bool
		deleted, err = l.awaitDeletion(ctx, predecessor)
		switch {
		case err != nil:
		case deleted && l.ahead.Load() == 1:
			return nil
		default:
			predecessor, err = l.predecessor(ctx)
		}
	}
	return err
}

// join creates the node and returns its predecessor.
func (l *lease) join(ctx context.Context) (predecessor string, err error) {
	if err := l.createNode(ctx); err != nil {
		return "", err
	}
	fence := make(chan error, 1)
	go func() { fence <- l.readFence(ctx) }()
	predecessor, err = l.predecessor(ctx)
	return predecessor, cmp.Or(<-fence, err)
}

// predecessor returns the name before the lease's own, or "" if the lease is
// first. It returns errSessionLost if the lease's node does not exist.
func (l *lease) predecessor(ctx context.Context) (string, error) {
	q, err := l.readQueue(ctx)
	if err != nil {
		return "", err
	}
	i := slices.IndexFunc(q, l.owns)
	if i < 0 {
		return "", errSessionLost
	}
	l.ahead.Store(int64(i))
	if i == 0 {
		return "", nil
	}
	return q[i-1], nil
}

// awaitDeletion returns when the predecessor's node may have been deleted, and
// reports whether it has. A watch on its data, unlike one on its existence, is not
// set if the node is gone, so that none is left behind.
func (l *lease) awaitDeletion(ctx context.Context, predecessor string) (deleted bool, err error) {
	event, err := repeat(ctx, l.locker, func() (<-chan zk.Event, error) {
		_, _, event, err := l.locker.conn.GetW(l.dir + "/" + predecessor)
		return event, err
	})
	if errors.Is(err, zk.ErrNoNode) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	select {
	case e := <-event:
		return e.Type == zk.EventNodeDeleted, nil
	case <-l.lost:
		return false, errSessionLost
	case <-l.locker.closed:
		return false, zk.ErrClosing
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
}
