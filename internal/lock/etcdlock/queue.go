package etcdlock

import (
	"context"
	"errors"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"example.com/flashsale/internal/lock"
)

// take puts the key where the prefix is empty.
func (l *lease) take(ctx context.Context) error {
	free := clientv3.Compare(clientv3.CreateRevision(l.prefix), "=", 0).WithPrefix()
	return l.put(ctx, free)
}

// queue puts the key behind the others and waits until it is the oldest.
// The etcd lease is kept alive meanwhile, and its time begins anew at the end.
func (l *lease) queue(ctx context.Context) error {
	if err := l.put(ctx, clientv3.Compare(clientv3.CreateRevision(l.name), "=", 0)); err != nil {
		return err
	}
	if err := l.wait(ctx); err != nil {
		if ctx.Err() != nil {
			return errors.Join(lock.ErrLocked, context.Cause(ctx))
		}
		return err
	}
	return l.keepAlive(ctx)
}

// put puts the key on a condition. If that is not met, the key may be there
// already, by an attempt whose reply was lost.
func (l *lease) put(ctx context.Context, cond clientv3.Cmp) error {
	put := clientv3.OpPut(l.name, "", clientv3.WithLease(l.id))
	resp, err := l.cli.Txn(ctx).If(cond).Then(put).Else(clientv3.OpGet(l.name)).Commit()
	if err != nil {
		return err
	}
	if resp.Succeeded {
		l.revision = resp.Header.Revision
		return nil
	}
	ours := resp.Responses[0].GetResponseRange().Kvs
	if len(ours) == 0 {
		return lock.ErrLocked
	}
	l.revision = ours[0].CreateRevision
	return nil
}

func (l *lease) wait(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	alive, err := l.cli.KeepAlive(ctx, l.id)
	if err != nil {
		return err
	}
	go func() {
		for range alive { // the client complains about replies that nobody takes
		}
	}()
	for {
		ahead, now, err := l.ahead(ctx)
		if err != nil || ahead == "" {
			return err
		}
		if err := deleted(ctx, l.cli, ahead, now+1); err != nil {
			return err
		}
	}
}

// ahead names the key before ours in the line, if there is one, as of a
// revision; it reports ErrLost if ours is gone.
func (l *lease) ahead(ctx context.Context) (name string, now int64, err error) {
	before := append(clientv3.WithLastCreate(), clientv3.WithMaxCreateRev(l.revision-1), clientv3.WithKeysOnly())
	resp, err := l.cli.Txn(ctx).Then(clientv3.OpGet(l.name), clientv3.OpGet(l.prefix, before...)).Commit()
	if err != nil {
		return "", 0, err
	}
	if resp.Responses[0].GetResponseRange().Count == 0 {
		return "", 0, lock.ErrLost
	}
	for _, kv := range resp.Responses[1].GetResponseRange().Kvs {
		name = string(kv.Key)
	}
	return name, resp.Header.Revision, nil
}

// deleted returns when name has been deleted at revision since or later, or
// when that has become unknowable because etcd has forgotten that revision.
func deleted(ctx context.Context, cli *clientv3.Client, name string, since int64) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for resp := range cli.Watch(ctx, name, clientv3.WithRev(since), clientv3.WithFilterPut()) {
		if err := resp.Err(); err != nil && !errors.Is(err, rpctypes.ErrCompacted) {
			return err
		}
		if len(resp.Events) > 0 || resp.CompactRevision > 0 {
			return nil
		}
	}
	return ctx.Err()
}
