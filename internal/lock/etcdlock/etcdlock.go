// Package etcdlock is a lock on etcd. Each lease is a key of its own below the
// lock's prefix, bound to an etcd lease that no other key is bound to. The key
// with the lowest create revision holds the lock. The others are the queue, in
// which each waiter watches only its predecessor.
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

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/lock/driver"
)

// A Locker keeps its keys below "lock/". A released lock leaves an etcd lease
// without a key behind, which the next lock of the same ttl uses.
type Locker struct {
	cli       *clientv3.Client
	idle      idleLeases
	abandoned driver.Abandoned
}

// New returns a locker that uses cli. The caller remains responsible for
// closing cli.
func New(cli *clientv3.Client) *Locker { return &Locker{cli: cli} }

// Drain implements lock.Drainer.
func (l *Locker) Drain(ctx context.Context) { l.abandoned.Drain(ctx) }

// Ping returns an error unless a majority of the members replies and the locks
// may be read.
func (l *Locker) Ping(ctx context.Context) error {
	_, err := l.cli.Get(ctx, "lock/", clientv3.WithCountOnly())
	return err
}

// TryLock implements lock.Locker. It costs one Raft commit for the key, which is
// put only if the prefix is empty, and another one if it needs a new etcd lease.
// A key with waiters is refused like a key with a holder.
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

// acquire gets an etcd lease and takes the lock with it by method.
func (l *Locker) acquire(ctx context.Context, key string, ttl time.Duration,
	method func(*lease, context.Context) error) (lock.Lease, error) {
	if err := errors.Join(checkTTL(ttl), ctx.Err()); err != nil {
		return nil, err
	}
	start := time.Now()
	leaseID, err := l.grant(ctx, seconds(ttl))
	if err != nil {
		return nil, fmt.Errorf("etcdlock: acquire %s: %w", key, err)
	}
	prefix := "lock/" + key + " " // a lock's key may contain a slash, but no space
	held := &lease{
		locker: l, cli: l.cli, key: key, prefix: prefix, etcdKey: prefix + rand.Text(),
		leaseID: leaseID, ttl: seconds(ttl),
	}
	held.expiry.Begin(start.Add(ttl))
	if err := method(held, ctx); err != nil {
		return nil, held.giveUp(ctx, start, err)
	}
	return held, nil
}

// grant returns an etcd lease that no key is bound to, and whose ttl has begun
// since the call. If the reply to a grant is lost, that etcd lease expires
// without having locked anything, and grant requests another.
func (l *Locker) grant(ctx context.Context, ttl int64) (id clientv3.LeaseID, err error) {
	for id = l.idle.take(ttl); id != 0; id = l.idle.take(ttl) {
		if err = l.keepAlive(ctx, id); !errors.Is(err, rpctypes.ErrLeaseNotFound) {
			return id, err
		}
	}
	_, err = repeatLost(ctx, func(ctx context.Context) error {
		granted, err := l.cli.Grant(ctx, ttl)
		if err == nil {
			id = granted.ID
		}
		return err
	})
	return id, err
}

// keepAlive lets the ttl of an etcd lease begin again.
func (l *Locker) keepAlive(ctx context.Context, id clientv3.LeaseID) error {
	_, err := repeatLost(ctx, func(ctx context.Context) error {
		_, err := l.cli.KeepAliveOnce(ctx, id)
		return err
	})
	return err
}

func seconds(ttl time.Duration) int64 { return driver.Units(ttl, time.Second) }

// maxTTL is etcd's.
const maxTTL = 9_000_000_000 * time.Second

func checkTTL(ttl time.Duration) error {
	if ttl > maxTTL {
		return fmt.Errorf("%w: ttl of %s, etcd keeps at most %s", lock.ErrInvalid, ttl, maxTTL)
	}
	return nil
}
