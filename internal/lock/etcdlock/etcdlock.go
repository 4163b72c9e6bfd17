// Package etcdlock is a lock on etcd: a key of its own for each lease, below
// the lock's prefix, bound to an etcd lease of its own; the oldest key holds.
// Waiters stand in line by age, each watching only the one before it.
//
// Ttls are rounded up to whole seconds, and etcd raises those below its
// election timeout. The fence is the revision that made the key. It is kept by
// Raft; restoring an old snapshot takes it back.
package etcdlock

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"example.com/flashsale/internal/lock"
)

// A Locker keeps its keys below "lock/".
type Locker struct{ cli *clientv3.Client }

// New returns a locker that uses cli, which remains the caller's to close.
func New(cli *clientv3.Client) *Locker { return &Locker{cli} }

// TryLock implements lock.Locker: one Raft commit for the etcd lease and one
// for the key, which is put only where there is none. Those who wait in line
// count as holders.
func (l *Locker) TryLock(ctx context.Context, key string, ttl time.Duration) (lock.Lease, error) {
	return l.obtain(ctx, key, ttl, (*lease).take)
}

// Lock implements lock.BlockingLocker. Whoever loses the place in line, because etcd
// was away for longer than ttl, stands in line again.
func (l *Locker) Lock(ctx context.Context, key string, ttl time.Duration) (lock.Lease, error) {
	for {
		held, err := l.obtain(ctx, key, ttl, (*lease).queue)
		if !errors.Is(err, lock.ErrLost) {
			return held, err
		}
	}
}

// obtain makes an etcd lease, and a lock of it by way of get. If the reply of
// the first is lost, the etcd lease ends by itself and keeps nobody out.
func (l *Locker) obtain(ctx context.Context, key string, ttl time.Duration,
	get func(*lease, context.Context) error) (lock.Lease, error) {
	if err := errors.Join(lock.CheckKey(key), lock.CheckTTL(ttl), ctx.Err()); err != nil {
		return nil, err
	}
	granted, err := l.cli.Grant(ctx, seconds(ttl))
	if err != nil {
		return nil, fmt.Errorf("etcdlock: take %s: %w", key, err)
	}
	prefix := "lock/" + key + " " // keys may have a slash, but no space
	held := &lease{
		cli: l.cli, key: key, prefix: prefix, name: prefix + rand.Text(),
		id: granted.ID, ttl: seconds(ttl), lost: make(chan struct{}),
	}
	if err := get(held, ctx); err != nil {
		held.revoke(ctx, held.id)
		if errors.Is(err, lock.ErrLocked) {
			return nil, err
		}
		return nil, fmt.Errorf("etcdlock: take %s: %w", key, err)
	}
	return held, nil
}

func seconds(ttl time.Duration) int64 { return int64((ttl + time.Second - 1) / time.Second) }
