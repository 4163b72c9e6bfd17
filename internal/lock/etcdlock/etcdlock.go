// Package etcdlock is a lock on etcd. Each lease is a key of its own below the
// lock's prefix, bound to an etcd lease of its own. The key with the lowest
// create revision holds the lock. The others are the queue, in which each
// waiter watches only its predecessor.
//
// Ttls are rounded up to whole seconds, and etcd raises those below its
// election timeout. The fence is the create revision of the key. Raft keeps it;
// restoring an old snapshot sets it back.
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

// New returns a locker that uses cli. The caller remains responsible for
// closing cli.
func New(cli *clientv3.Client) *Locker { return &Locker{cli} }

// Ping returns an error unless a majority of the members replies and the locks
// may be read.
func (l *Locker) Ping(ctx context.Context) error {
	_, err := l.cli.Get(ctx, "lock/", clientv3.WithCountOnly())
	return err
}

// TryLock implements lock.Locker. It costs one Raft commit for the etcd lease
// and one for the key, which is put only if the prefix is empty. A key with
// waiters is refused like a key with a holder.
func (l *Locker) TryLock(ctx context.Context, key string, ttl time.Duration) (lock.Lease, error) {
	return l.acquire(ctx, key, ttl, (*lease).tryLock)
}

// Lock implements lock.BlockingLocker. A waiter whose etcd lease has expired,
// because etcd was unavailable for longer than ttl, loses its place and joins
// the queue again at its end.
func (l *Locker) Lock(ctx context.Context, key string, ttl time.Duration) (lock.Lease, error) {
	for {
		held, err := l.acquire(ctx, key, ttl, (*lease).lock)
		if !errors.Is(err, lock.ErrLost) {
			return held, err
		}
	}
}

// acquire grants an etcd lease and takes the lock with it by method. If the
// reply to the grant is lost, the etcd lease expires without having locked
// anything.
func (l *Locker) acquire(ctx context.Context, key string, ttl time.Duration,
	method func(*lease, context.Context) error) (lock.Lease, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	granted, err := l.cli.Grant(ctx, seconds(ttl))
	if err != nil {
		return nil, fmt.Errorf("etcdlock: acquire %s: %w", key, err)
	}
	prefix := "lock/" + key + " " // a lock's key may contain a slash, but no space
	held := &lease{
		cli: l.cli, key: key, prefix: prefix, etcdKey: prefix + rand.Text(),
		leaseID: granted.ID, ttl: seconds(ttl), lost: make(chan struct{}),
	}
	if err := method(held, ctx); err != nil {
		held.revoke(ctx, held.leaseID)
		if errors.Is(err, lock.ErrLocked) {
			return nil, err
		}
		return nil, fmt.Errorf("etcdlock: acquire %s: %w", key, err)
	}
	return held, nil
}

func seconds(ttl time.Duration) int64 { return int64((ttl + time.Second - 1) / time.Second) }
