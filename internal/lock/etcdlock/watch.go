package etcdlock

import (
	"context"
	"errors"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// watchDelay is how long after the first call of Lost its watch begins. Most
// locks are released before, and need none.
const watchDelay = 100 * time.Millisecond

// Lost implements lock.WatchedLease. The channel is closed when etcd has deleted the
// key; it stays open while etcd is unavailable. The first call starts the watch,
// which also finds what has happened before.
func (l *lease) Lost() <-chan struct{} {
	l.watchOnce.Do(func() {
		ctx, stop := context.WithCancel(l.cli.Ctx())
		timer := time.AfterFunc(watchDelay, func() { l.watch(ctx) })
		l.stopWatch = func() { timer.Stop(); stop() }
	})
	return l.lost
}

// endWatch ends the watch, or prevents a later call of Lost from starting one.
func (l *lease) endWatch() {
	l.watchOnce.Do(func() {})
	if l.stopWatch != nil {
		l.stopWatch()
	}
}

func (l *lease) watch(ctx context.Context) {
	for since := l.revision + 1; ctx.Err() == nil; {
		unwatched := waitDeleted(ctx, l.cli, l.etcdKey, since)
		resp, err := l.cli.Get(ctx, l.etcdKey)
		if err == nil && resp.Count == 0 {
			close(l.lost)
			return
		}
		if err == nil {
			since = resp.Header.Revision + 1
		}
		if unwatched != nil || err != nil { // etcd is unavailable, or refuses the watch
			select {
			case <-ctx.Done():
			case <-time.After(time.Second):
			}
		}
	}
}

// waitDeleted returns when etcdKey has been deleted at revision since or later,
// or when that cannot be known because etcd has compacted that revision.
func waitDeleted(ctx context.Context, cli *clientv3.Client, etcdKey string, since int64) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for resp := range cli.Watch(ctx, etcdKey, clientv3.WithRev(since), clientv3.WithFilterPut()) {
		if err := resp.Err(); err != nil && !errors.Is(err, rpctypes.ErrCompacted) {
			return err
		}
		if len(resp.Events) > 0 || resp.CompactRevision > 0 {
			return nil
		}
	}
	return ctx.Err()
}
