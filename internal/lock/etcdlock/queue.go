package etcdlock

import (
	"context"
	"errors"

	clientv3 "go.etcd.io/etcd/client/v3"

	"example.com/flashsale/internal/lock"
)

// tryLock puts the key if the prefix is empty.
func (l *lease) tryLock(ctx context.Context) error {
	empty := clientv3.Compare(clientv3.CreateRevision(l.prefix), "=", 0).WithPrefix()
	return l.put(ctx, empty)
}

// lock puts the key and waits until it is the oldest of the prefix. The etcd
// lease is kept alive meanwhile, and its ttl starts again at the end.
func (l *lease) lock(ctx context.Context) error {
	if err := l.put(ctx, clientv3.Compare(clientv3.CreateRevision(l.etcdKey), "=", 0)); err != nil {
		return err
	}
	if err := l.waitForTurn(ctx); err != nil {
		if ctx.Err() != nil {
			return errors.Join(lock.ErrLocked, context.Cause(ctx))
		}
		return err
	}
	return l.keepAlive(ctx)
}

// put puts the key if condition holds, and returns ErrLocked if not. When an
// earlier attempt has put the key and its reply was lost, the condition fails
// because of the lease's own key; put then succeeds.
func (l *lease) put(ctx context.Context, condition clientv3.Cmp) error {
	put := clientv3.OpPut(l.etcdKey, "", clientv3.WithLease(l.leaseID))
	resp, err := l.cli.Txn(ctx).If(condition).Then(put).Else(clientv3.OpGet(l.etcdKey)).Commit()
	if err != nil {
		return err
	}
	if resp.Succeeded {
		l.revision = resp.Header.Revision
		return nil
	}
	own := resp.Responses[0].GetResponseRange().Kvs
	if len(own) == 0 {
		return lock.ErrLocked
	}
	l.revision = own[0].CreateRevision
	return nil
}

// waitForTurn returns when the lease has no predecessor.
func (l *lease) waitForTurn(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	responses, err := l.cli.KeepAlive(ctx, l.leaseID)
	if err != nil {
		return err
	}
	go func() {
		for range responses { // the client logs a warning when they are not received
		}
	}()
	for {
		predecessor, revision, err := l.predecessor(ctx)
		if err != nil || predecessor == "" {
			return err
		}
		if err := waitDeleted(ctx, l.cli, predecessor, revision+1); err != nil {
			return err
		}
	}
}

// predecessor returns the key that is next older than the lease's own, or "" if
// there is none, and the revision at which that was so. It returns ErrLost if
// the lease's own key does not exist.
func (l *lease) predecessor(ctx context.Context) (etcdKey string, revision int64, err error) {
	older := append(clientv3.WithLastCreate(), clientv3.WithMaxCreateRev(l.revision-1), clientv3.WithKeysOnly())
	resp, err := l.cli.Txn(ctx).Then(clientv3.OpGet(l.etcdKey), clientv3.OpGet(l.prefix, older...)).Commit()
	if err != nil {
		return "", 0, err
	}
	if resp.Responses[0].GetResponseRange().Count == 0 {
		return "", 0, lock.ErrLost
	}
	for _, kv := range resp.Responses[1].GetResponseRange().Kvs {
		etcdKey = string(kv.Key)
	}
	return etcdKey, resp.Header.Revision, nil
}
