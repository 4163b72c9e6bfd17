package etcdlock

import (
	"cmp"
	"context"
	"errors"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"example.com/flashsale/internal/lock"
)

// errWatchEnded reports that the client was closed. That is not the turn of its
// waiters.
var errWatchEnded = errors.New("the watch of the predecessor has ended")

// tryLock puts the key if the prefix is empty.
func (l *lease) tryLock(ctx context.Context) error {
	empty := clientv3.Compare(clientv3.CreateRevision(l.prefix), "=", 0).WithPrefix()
	_, err := l.put(ctx, empty)
	return err
}

// lock puts the key and waits until it is the oldest of the prefix. The etcd
// lease is kept alive meanwhile, and its ttl begins again after a wait that has
// lasted for a tenth of it.
func (l *lease) lock(ctx context.Context) error {
	start, ttl := time.Now(), time.Duration(l.ttl)*time.Second
	last, err := l.put(ctx, clientv3.Compare(clientv3.CreateRevision(l.etcdKey), "=", 0))
	if err != nil || last.predecessor == "" {
		return err
	}
	if err := l.waitForTurn(ctx, last); err != nil {
		if ctx.Err() != nil {
			return errors.Join(lock.ErrLocked, context.Cause(ctx))
		}
		return err
	}
	if time.Since(start) < ttl/10 {
		return nil
	}
	l.expiry.Begin(time.Now().Add(ttl))
	return l.keepAlive(ctx)
}

// A place is a lease's place in the queue at one revision.
type place struct {
	predecessor string // the key that is next older than the lease's own, or ""
	revision    int64
}

// put puts the key if condition holds, and returns ErrLocked if not. When an
// earlier attempt has put the key and its reply was lost, the condition fails
// because of the lease's own key; put then succeeds.
func (l *lease) put(ctx context.Context, condition clientv3.Cmp) (p place, err error) {
	put := clientv3.OpPut(l.etcdKey, "", clientv3.WithLease(l.leaseID))
	lastTwo := append(clientv3.WithLastCreate(), clientv3.WithLimit(2), clientv3.WithKeysOnly())
	queue := clientv3.OpGet(l.prefix, lastTwo...)
	var resp *clientv3.TxnResponse
	l.uncertain, err = repeatLost(ctx, func(ctx context.Context) (err error) {
		resp, err = l.cli.Txn(ctx).If(condition).Then(put, queue).Else(clientv3.OpGet(l.etcdKey)).Commit()
		return err
	})
	if err != nil {
		return place{}, err
	}
	if !resp.Succeeded {
		return l.findOwn(ctx, resp.Responses[0].GetResponseRange())
	}
	l.revision = resp.Header.Revision
	for _, kv := range resp.Responses[1].GetResponseRange().Kvs {
		if string(kv.Key) != l.etcdKey {
			p.predecessor = string(kv.Key)
		}
	}
	p.revision = l.revision
	return p, nil
}

// findOwn returns the place of the key that an earlier put has put, or ErrLocked
// if there is none.
func (l *lease) findOwn(ctx context.Context, own *etcdserverpb.RangeResponse) (place, error) {
	if len(own.Kvs) == 0 {
		return place{}, lock.ErrLocked
	}
	l.revision = own.Kvs[0].CreateRevision
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	return l.place(ctx)
}

// waitForTurn returns when the lease has no predecessor.
func (l *lease) waitForTurn(ctx context.Context, p place) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	keepAlive := time.AfterFunc(time.Duration(l.ttl)*time.Second/3, func() { l.keepAliveUntil(ctx) })
	defer keepAlive.Stop()
	for p.predecessor != "" {
		lock.Queued(ctx)
		next, err := l.nextPlace(ctx, p)
		if err != nil {
			return err
		}
		p = next
	}
	return nil
}

// nextPlace blocks until the predecessor of p has been deleted, and returns the
// place of the lease then. The watch begins at etcd's current revision, and what
// happened before is read: events of the past would come up to 100 ms late.
func (l *lease) nextPlace(ctx context.Context, p place) (place, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for resp := range l.cli.Watch(ctx, p.predecessor, clientv3.WithFilterPut(), clientv3.WithCreatedNotify()) {
		switch {
		case errors.Is(resp.Err(), rpctypes.ErrCompacted): // while the watch was interrupted
			return l.place(ctx)
		case resp.Err() != nil:
			return place{}, resp.Err()
		case resp.Header.Revision <= p.revision:
			continue // nothing has happened since, or this member does not know it yet and will send it
		}
		if next, err := l.placeAt(ctx, resp.Header.Revision); err != nil || next.predecessor != p.predecessor {
			return next, err
		}
	}
	return place{}, cmp.Or(ctx.Err(), errWatchEnded)
}

// keepAliveUntil keeps the etcd lease alive until ctx ends. A failure shows when
// the key has expired.
func (l *lease) keepAliveUntil(ctx context.Context) {
	responses, err := l.cli.KeepAlive(ctx, l.leaseID)
	if err != nil {
		return // the client is closed
	}
	for range responses { // the client logs a warning when they are not received
	}
}

// placeAt returns the lease's place at a revision, as any member knows it that has
// reached this revision, and otherwise at the latest revision. A lease that was
// the oldest at any revision is the oldest until its key is deleted.
func (l *lease) placeAt(ctx context.Context, revision int64) (place, error) {
	p, err := l.place(ctx, clientv3.WithRev(revision), clientv3.WithSerializable())
	if errors.Is(err, rpctypes.ErrFutureRev) || errors.Is(err, rpctypes.ErrCompacted) {
		return l.place(ctx)
	}
	p.revision = revision
	return p, err
}

// place returns the lease's place. It returns ErrLost if the lease's own key does
// not exist.
func (l *lease) place(ctx context.Context, options ...clientv3.OpOption) (p place, err error) {
	older := append(clientv3.WithLastCreate(), clientv3.WithMaxCreateRev(l.revision-1), clientv3.WithKeysOnly())
	own := clientv3.OpGet(l.etcdKey, options...)
	resp, err := l.cli.Txn(ctx).Then(own, clientv3.OpGet(l.prefix, append(older, options...)...)).Commit()
	if err != nil {
		return place{}, err
	}
	if resp.Responses[0].GetResponseRange().Count == 0 {
		return place{}, lock.ErrLost
	}
	for _, kv := range resp.Responses[1].GetResponseRange().Kvs {
		p.predecessor = string(kv.Key)
	}
	p.revision = resp.Header.Revision
	return p, nil
}
