package etcdlock

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"example.com/flashsale/internal/lock"
)

// cleanup bounds the attempt to let go of what is no longer wanted; should it
// fail, the etcd lease's end is what lets go.
const cleanup = 2 * time.Second

// A lease is one key and the etcd lease that it is bound to.
type lease struct {
	cli      *clientv3.Client
	key      string
	prefix   string
	name     string
	revision int64 // that made the key

	mu  sync.Mutex // held while etcd is asked: one verb at a time
	id  clientv3.LeaseID
	ttl int64 // that id was granted for, in seconds; 0 if the key may be bound to another

	watching sync.Once
	stop     context.CancelFunc
	lost     chan struct{}
}

// Fence implements lock.Lease.
func (l *lease) Fence() uint64 { return uint64(l.revision) }

// Extend keeps the etcd lease alive, which costs no commit. Only a ttl of
// another number of seconds needs another etcd lease.
func (l *lease) Extend(ctx context.Context, ttl time.Duration) error {
	if err := lock.CheckTTL(ttl); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	var err error
	if seconds(ttl) == l.ttl {
		err = l.keepAlive(ctx)
	} else {
		err = l.move(ctx, seconds(ttl))
	}
	if err != nil && !errors.Is(err, lock.ErrLost) {
		return fmt.Errorf("etcdlock: extend %s: %w", l.key, err)
	}
	return err
}

func (l *lease) keepAlive(ctx context.Context) error {
	_, err := l.cli.KeepAliveOnce(ctx, l.id)
	if errors.Is(err, rpctypes.ErrLeaseNotFound) {
		return lock.ErrLost
	}
	if err != nil {
		return err
	}
	resp, err := l.cli.Get(ctx, l.name) // somebody may have deleted the key alone
	if err == nil && resp.Count == 0 {
		err = lock.ErrLost
	}
	return err
}

// move binds the key to a new etcd lease, which does not change who is oldest.
func (l *lease) move(ctx context.Context, ttl int64) error {
	granted, err := l.cli.Grant(ctx, ttl)
	if err != nil {
		return err
	}
	l.ttl = 0 // if the reply is lost, the next Extend must bind it again
	put := clientv3.OpPut(l.name, "", clientv3.WithLease(granted.ID))
	resp, err := l.cli.Txn(ctx).If(l.ours()).Then(put).Commit()
	if err != nil {
		return err
	}
	if !resp.Succeeded {
		l.revoke(ctx, granted.ID)
		return lock.ErrLost
	}
	l.revoke(ctx, l.id)
	l.id, l.ttl = granted.ID, ttl
	return nil
}

// Release deletes the key if it is still the one that we made: a delete by
// name alone could, when repeated, take the next holder's (etcd#22082).
func (l *lease) Release(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.unwatch()
	resp, err := l.cli.Txn(ctx).If(l.ours()).Then(clientv3.OpDelete(l.name)).Commit()
	if err != nil {
		return fmt.Errorf("etcdlock: release %s: %w", l.key, err)
	}
	l.revoke(ctx, l.id)
	if !resp.Succeeded {
		return lock.ErrLost
	}
	return nil
}

func (l *lease) ours() clientv3.Cmp {
	return clientv3.Compare(clientv3.CreateRevision(l.name), "=", l.revision)
}

// revoke ends an etcd lease, and its key if it has one, whatever has become
// of ctx.
func (l *lease) revoke(ctx context.Context, id clientv3.LeaseID) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanup)
	defer cancel()
	_, _ = l.cli.Revoke(ctx, id)
}

// Lost implements lock.Watched. It tells when etcd has deleted the key, and
// nothing while etcd cannot be reached. The watch begins with the first call.
func (l *lease) Lost() <-chan struct{} {
	l.watching.Do(func() {
		ctx, stop := context.WithCancel(l.cli.Ctx())
		l.stop = stop
		go l.watch(ctx)
	})
	return l.lost
}

// unwatch ends the watch, or sees to it that none begins.
func (l *lease) unwatch() {
	l.watching.Do(func() {})
	if l.stop != nil {
		l.stop()
	}
}

func (l *lease) watch(ctx context.Context) {
	for since := l.revision + 1; ctx.Err() == nil; {
		_ = deleted(ctx, l.cli, l.name, since)
		resp, err := l.cli.Get(ctx, l.name)
		switch {
		case err != nil: // etcd is away
			select {
			case <-ctx.Done():
			case <-time.After(time.Second):
			}
		case resp.Count == 0:
			close(l.lost)
			return
		default:
			since = resp.Header.Revision + 1
		}
	}
}
