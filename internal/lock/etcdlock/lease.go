package etcdlock

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/lock/driver"
)

// cleanup bounds the attempt to revoke an etcd lease. If that fails, the etcd
// lease expires after its ttl.
const cleanup = 500 * time.Millisecond

// A lease is one key in etcd and the etcd lease that it is bound to.
type lease struct {
	locker   *Locker
	cli      *clientv3.Client
	key      string // of the lock
	prefix   string
	etcdKey  string
	revision int64 // at which etcdKey was created
	expiry   driver.Expiry

	mu        sync.Mutex // serializes Extend and Release, requests included
	leaseID   clientv3.LeaseID
	ttl       int64 // of leaseID, in seconds; 0 if etcdKey may be bound to another etcd lease
	uncertain bool  // a request that puts etcdKey may still be under way
	releasing bool  // a request that deletes etcdKey has been sent
}

// Fence implements lock.Lease.
func (l *lease) Fence() uint64 { return uint64(l.revision) }

// Extend implements lock.Lease. It keeps the etcd lease alive, which costs no
// Raft commit. Only a ttl of another number of seconds needs a new etcd lease.
func (l *lease) Extend(ctx context.Context, ttl time.Duration) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := checkTTL(ttl); err != nil {
		return err
	}
	extend := l.keepAlive
	if seconds(ttl) != l.ttl {
		extend = func(ctx context.Context) error { return l.changeTTL(ctx, seconds(ttl)) }
	}
	return l.expiry.Extend(ttl, func() (extended bool, err error) {
		if err = extend(ctx); err == nil || errors.Is(err, lock.ErrLost) {
			return err == nil, nil
		}
		return false, fmt.Errorf("etcdlock: extend %s: %w", l.key, err)
	})
}

func (l *lease) keepAlive(ctx context.Context) error {
	err := l.locker.keepAlive(ctx, l.leaseID)
	if errors.Is(err, rpctypes.ErrLeaseNotFound) {
		return lock.ErrLost
	}
	if err != nil {
		return err
	}
	_, err = repeatLost(ctx, func(ctx context.Context) error {
		resp, err := l.cli.Get(ctx, l.etcdKey) // the key may have been deleted without its etcd lease
		if err == nil && resp.Count == 0 {
			err = lock.ErrLost
		}
		return err
	})
	return err
}

// changeTTL binds the key to a new etcd lease. That does not change the key's
// create revision, and so not its place in the queue.
func (l *lease) changeTTL(ctx context.Context, ttl int64) error {
	id, err := l.locker.grant(ctx, ttl)
	if err != nil {
		return err
	}
	l.ttl = 0 // if the reply is lost, the next Extend must bind it again
	put := clientv3.OpPut(l.etcdKey, "", clientv3.WithLease(id))
	owner := false
	_, err = repeatLost(ctx, func(ctx context.Context) error {
		resp, err := l.cli.Txn(ctx).If(l.isOwner()).Then(put).Commit()
		owner = err == nil && resp.Succeeded
		return err
	})
	if err != nil {
		return err
	}
	if !owner {
		_ = l.revoke(ctx, id)
		return lock.ErrLost
	}
	_ = l.revoke(ctx, l.leaseID)
	l.leaseID, l.ttl = id, ttl
	return nil
}

// Release implements lock.Lease. It deletes the key only if the key still has
// its create revision: an unconditional delete that is repeated could delete a
// key that was created anew in between (etcd#22082).
func (l *lease) Release(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.expiry.Release(func() (found, repeated bool, err error) {
		found, repeated, err = l.delete(ctx)
		if err != nil {
			l.abandon(ctx, time.Now())
			return false, true, fmt.Errorf("etcdlock: release %s: %w", l.key, err)
		}
		l.retire(ctx, found)
		return found, repeated, nil
	})
}

// delete deletes the key, and reports whether it did, and whether an earlier
// request may have.
func (l *lease) delete(ctx context.Context) (found, repeated bool, err error) {
	earlier := l.releasing
	l.releasing = true
	repeated, err = repeatLost(ctx, func(ctx context.Context) error {
		resp, err := l.cli.Txn(ctx).If(l.isOwner()).Then(clientv3.OpDelete(l.etcdKey)).Commit()
		found = err == nil && resp.Succeeded
		return err
	})
	return found, repeated || earlier, err
}

// isOwner is the condition that the key exists and is the one that the lease
// created.
func (l *lease) isOwner() clientv3.Cmp {
	return clientv3.Compare(clientv3.CreateRevision(l.etcdKey), "=", l.revision)
}

// retire keeps the etcd lease for the next lock, if certainly no key is bound to
// it and none will be, or revokes it.
func (l *lease) retire(ctx context.Context, unbound bool) {
	switch {
	case l.uncertain:
		l.abandon(ctx, time.Now())
	case unbound && l.ttl != 0 && l.locker.idle.put(l.leaseID, l.ttl):
	default:
		_ = l.revoke(ctx, l.leaseID)
	}
}

// giveUp ends a lease that has not become the lock's holder because of err, and
// returns the error of its acquisition, which was requested at start. The refusal
// of a waiter stands only if etcd replies at the end of the wait.
func (l *lease) giveUp(ctx context.Context, start time.Time, err error) error {
	refused := errors.Is(err, lock.ErrLocked)
	switch {
	case refused && l.revision == 0:
		l.retire(ctx, true)
		return err
	case l.abandon(ctx, start) && refused:
		return err
	case refused:
		err = context.Cause(ctx)
	}
	return fmt.Errorf("etcdlock: acquire %s: %w", l.key, err)
}

// abandon revokes the etcd lease until a late request cannot bind a key to it. It
// reports whether etcd has replied already.
func (l *lease) abandon(ctx context.Context, start time.Time) (replied bool) {
	var replies atomic.Int64
	l.locker.abandoned.Release(ctx, start, func(ctx context.Context) error {
		err := l.locker.revoke(ctx, l.leaseID)
		if err == nil {
			replies.Add(1)
		}
		if l.cli.Ctx().Err() != nil {
			return nil //nolint:nilerr // the client is closed, and the etcd lease expires
		}
		return err
	})
	return replies.Load() > 0
}

// revoke revokes an etcd lease of this lease. If that fails, the etcd lease
// expires. The end of ctx does not stop it.
func (l *lease) revoke(ctx context.Context, id clientv3.LeaseID) error {
	ctx, cancel := driver.Cleanup(ctx, cleanup)
	defer cancel()
	return l.locker.revoke(ctx, id)
}

// revoke revokes an etcd lease, which deletes the key bound to it and prevents a
// late request from binding one. It is no error if etcd does not have it.
func (l *Locker) revoke(ctx context.Context, id clientv3.LeaseID) error {
	if _, err := l.cli.Revoke(ctx, id); !errors.Is(err, rpctypes.ErrLeaseNotFound) {
		return err
	}
	return nil
}
