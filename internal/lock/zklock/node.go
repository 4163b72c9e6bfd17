package zklock

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/go-zookeeper/zk"
	"github.com/google/uuid"
)

// openACLUnsafe is ZooKeeper's OPEN_ACL_UNSAFE: every client may do everything.
var openACLUnsafe = zk.WorldACL(zk.PermAll)

// newID returns the beginning of a node's name. Curator writes a UUID so that a
// node can be found when the reply with its name was lost.
func newID() string { return "_c_" + uuid.NewString() + "-" }

// createNode creates the lease's node, and its directory if need be. When the
// connection is lost meanwhile, createNode looks for the node, and creates it
// again if it is not there.
func (l *lease) createNode(ctx context.Context) error {
	for {
		name, err := request(ctx, l.locker, l.create)
		switch {
		case err == nil:
			l.name = name
			return nil
		case errors.Is(err, zk.ErrNoNode):
			err = l.createDirectory(ctx)
		case isConnectionLoss(err):
			l.uncertain = true
			err = l.findNode(ctx)
		}
		if err != nil || l.name != "" {
			return err
		}
	}
}

// create sends the request.
func (l *lease) create() (name string, err error) {
	l.sent.Store(true)
	path, err := l.locker.conn.Create(l.dir+"/"+l.id+"lock-", nil, zk.FlagEphemeral|zk.FlagSequence, openACLUnsafe)
	return strings.TrimPrefix(path, l.dir+"/"), err
}

// createDirectory creates the lock's directory. ZooKeeper may delete it before it
// has a node; the next attempt to create the node then fails again.
func (l *lease) createDirectory(ctx context.Context) error {
	_, err := repeat(ctx, l.locker, func() (struct{}, error) {
		for _, dir := range []string{"/locks", l.dir} {
			_, err := l.locker.conn.CreateContainer(dir, nil, zk.FlagContainer, openACLUnsafe)
			if err != nil && !errors.Is(err, zk.ErrNodeExists) && !errors.Is(err, zk.ErrNoNode) {
				return struct{}{}, err
			}
		}
		return struct{}{}, nil
	})
	return err
}

// findNode sets the lease's name if its node exists. The server may be another
// one than before, so it first has to learn of all that has been committed.
func (l *lease) findNode(ctx context.Context) error {
	_, err := repeat(ctx, l.locker, func() (string, error) { return l.locker.conn.Sync(l.dir) })
	if err != nil && !errors.Is(err, zk.ErrNoNode) {
		return err
	}
	q, err := l.readQueue(ctx)
	if i := slices.IndexFunc(q, l.owns); i >= 0 {
		l.name = q[i]
	}
	return err
}

// owns reports whether the node is the lease's. A lease has more than one if the
// request to create the first was executed after findNode.
func (l *lease) owns(name string) bool { return strings.HasPrefix(name, l.id) }

// readFence reads the id of the transaction that has created the node.
func (l *lease) readFence(ctx context.Context) error {
	stat, err := repeat(ctx, l.locker, func() (*zk.Stat, error) {
		exists, stat, err := l.locker.conn.Exists(l.path())
		if err == nil && !exists {
			err = errSessionLost
		}
		return stat, err
	})
	if err == nil {
		l.fence = uint64(stat.Czxid)
	}
	return err
}

// deleteNodes deletes the nodes that have the lease's id. After Close there is
// nothing to do: the nodes end with the session.
func (l *lease) deleteNodes(ctx context.Context) error {
	q, err := l.readQueue(ctx)
	for i, name := range q {
		if err == nil && l.owns(name) {
			l.ahead.Store(int64(i))
			_, err = l.deleteNode(ctx, name)
		}
	}
	if isClosed(l.locker.closed) {
		return nil
	}
	return err
}

// deleteNode deletes a node and repeats that after a lost connection. It reports
// whether the node was there, as far as that is known.
func (l *lease) deleteNode(ctx context.Context, name string) (found bool, err error) {
	for repeated := false; ; repeated = true {
		_, err := request(ctx, l.locker, func() (struct{}, error) {
			return struct{}{}, l.locker.conn.Delete(l.dir+"/"+name, -1)
		})
		switch {
		case errors.Is(err, zk.ErrNoNode):
			return repeated, nil
		case !isConnectionLoss(err) || isClosed(l.locker.closed):
			return err == nil, err
		}
	}
}
