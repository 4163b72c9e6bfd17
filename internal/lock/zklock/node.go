package zklock

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"example.com/flashsale/internal/lock/driver"
)

// openACLUnsafe is ZooKeeper's OPEN_ACL_UNSAFE: every client may do everything.
var openACLUnsafe = zk.WorldACL(zk.PermAll)

// createNode creates the lease's node and reads its fence. If ctx ends before
// the outcome is known, a node that is created nevertheless is deleted in the
// background.
func (l *lease) createNode(ctx context.Context, version int32) (err error) {
	l.name, err = await(ctx, func() (string, error) {
		name, err := l.createSequential(ctx, version)
		if ctx.Err() != nil {
			go l.deleteEventually()
		}
		return name, err
	})
	if err != nil {
		return err
	}
	l.fence, err = await(ctx, func() (uint64, error) {
		exists, stat, err := l.locker.conn.Exists(l.path())
		if err != nil {
			return 0, err
		}
		if !exists {
			return 0, errSessionLost
		}
		return uint64(stat.Czxid), nil
	})
	return err
}

// createSequential creates the node and raises the directory's version, on
// condition that the directory has the given version. It creates the directory
// if need be; ZooKeeper may delete that before the next attempt. If the reply
// was lost, createSequential looks for the node by its id.
func (l *lease) createSequential(ctx context.Context, version int32) (name string, err error) {
	for range 10 {
		results, err := l.locker.conn.Multi(
			&zk.SetDataRequest{Path: l.dir, Version: version},
			&zk.CreateRequest{Path: l.dir + "/" + l.id + "-", Acl: openACLUnsafe, Flags: zk.FlagEphemeral | zk.FlagSequence},
		)
		switch {
		case err == nil:
			return strings.TrimPrefix(results[1].String, l.dir+"/"), nil
		case isConnectionLoss(err):
			return l.findNode(ctx)
		case !errors.Is(err, zk.ErrNoNode):
			return "", err
		}
		for _, dir := range []string{"/locks", l.dir} {
			_, err := l.locker.conn.CreateContainer(dir, nil, zk.FlagContainer, openACLUnsafe)
			if err != nil && !errors.Is(err, zk.ErrNodeExists) && !errors.Is(err, zk.ErrNoNode) {
				return "", err
			}
		}
	}
	return "", errors.New("the lock's directory was deleted again and again")
}

// findNode returns the name of the lease's node, as soon as the connection is
// back, or zk.ErrConnectionClosed if there is no such node.
func (l *lease) findNode(ctx context.Context) (string, error) {
	q, err := l.readQueue()
	for isConnectionLoss(err) {
		if err = l.pause(ctx); err == nil {
			q, err = l.readQueue()
		}
	}
	for _, name := range q.names {
		if l.owns(name) {
			return name, nil
		}
	}
	return "", errors.Join(zk.ErrConnectionClosed, err)
}

func (l *lease) owns(name string) bool { return strings.HasPrefix(name, l.id) }

// deleteNode deletes the lease's node, found by its id, if there is one.
func (l *lease) deleteNode() (struct{}, error) {
	q, err := l.readQueue()
	for _, name := range q.names {
		if l.owns(name) {
			err = l.locker.conn.Delete(l.dir+"/"+name, -1)
		}
	}
	if errors.Is(err, zk.ErrNoNode) {
		err = nil
	}
	return struct{}{}, err
}

// cleanUp deletes the lease's node, even after the end of ctx. If that takes too
// long or fails, cleanUp continues in the background.
func (l *lease) cleanUp(ctx context.Context) {
	ctx, cancel := driver.Cleanup(ctx, cleanup)
	defer cancel()
	if _, err := await(ctx, l.deleteNode); err != nil {
		go l.deleteEventually()
	}
}

// deleteEventually retries deleteNode until it succeeds or the locker is
// closed.
func (l *lease) deleteEventually() {
	for pause := 10 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		if _, err := l.deleteNode(); err == nil {
			return
		}
		select {
		case <-l.locker.closed:
			return
		case <-time.After(pause):
		}
	}
}
