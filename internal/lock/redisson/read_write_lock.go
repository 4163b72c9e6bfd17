package redisson

import (
	"context"
	"fmt"
	"sync"
	"time"

	"example.com/flashsale/internal/lock"
)

var readLockType = lockType{
	acquire: script("read_holds.lua", "read_acquire.lua"),
	release: script("read_holds.lua", "read_release.lua"),
	extend:  script("read_extend.lua"),
	keys: func(name, owner string) []string {
		return []string{name, suffixed(name, owner+":rwlock_timeout:1"), writerWaits(name)}
	},
	channel: rwChannel,
	member:  identity,
}

var writeLockType = lockType{
	acquire: script("read_holds.lua", "write_acquire.lua"),
	release: script("write_release.lua"),
	extend:  rlockType.extend,
	keys:    func(name, _ string) []string { return []string{name, writerWaits(name)} },
	channel: rwChannel,
	member:  func(owner string) string { return owner + ":write" },
}

var downgradeScript = script("write_downgrade.lua")

func rwChannel(name string) string { return prefixed("redisson_rwlock", name) }

// writerWaits names a key that Redisson does not know: it is there while a Go
// writer waits for readers to leave.
func writerWaits(name string) string { return suffixed(name, "rwlock_writer_waits") }

// writerPatience is how long a writer that was refused holds new readers back,
// unless it asks again.
const writerPatience = 2 * time.Second

// ReadLock is the read side of Redisson's RReadWriteLock. Its leases exclude
// writers, not each other.
//
// While a Go writer waits for readers to leave, new Go readers are refused
// too, so that they do not starve it; a chain of calls that takes the same
// read lock twice can therefore wait for its own first hold, unless re-entry
// goes through the context. Java's readers do not see the waiting writer and
// still join: no key of Redisson's format would hold them back.
func (c *Client) ReadLock() RLock { return RLock{locker{c, &readLockType}} }

// WriteLock is the write side of Redisson's RReadWriteLock. Readers whose time
// is up do not hinder it, even if they died without letting go.
func (c *Client) WriteLock() RWriteLock { return RWriteLock{RLock{locker{c, &writeLockType}}} }

// An RWriteLock is an RLock whose waiters hold back new readers.
type RWriteLock struct{ RLock }

// TryLock implements lock.Locker. Only if somebody of this client waits for
// key, by Notify, does a refusal hold back new readers.
func (w RWriteLock) TryLock(ctx context.Context, key string, ttl time.Duration) (lock.Lease, error) {
	var wait int64
	if w.c.waitingWriters.has(key) {
		wait = writerPatience.Milliseconds()
	}
	lease, _, err := w.try(ctx, key, w.c.newOwner(), ttl, wait)
	if err != nil {
		return nil, err
	}
	return lease, nil
}

// Notify implements lock.Notifier.
func (w RWriteLock) Notify(key string, wake chan<- struct{}) (stop func(), err error) {
	deaf, err := w.RLock.Notify(key, wake)
	if err != nil {
		return nil, err
	}
	w.c.waitingWriters.add(key, 1)
	return sync.OnceFunc(func() {
		deaf()
		w.c.waitingWriters.add(key, -1)
	}), nil
}

// Downgrade turns a lease of this lock into one of ReadLock with nobody in
// between, and wakes the readers that wait, which Redisson forgets to do.
// After an error that is not lock.ErrLost, the write lease may still hold.
func (w RWriteLock) Downgrade(ctx context.Context, writing lock.Lease, ttl time.Duration) (lock.Lease, error) {
	own, ok := writing.(*lease)
	if !ok || own.locker != w.locker {
		return nil, errForeign
	}
	if own.ended() {
		return nil, lock.ErrLost
	}
	publish, err := w.c.publishCommand(ctx)
	if err != nil {
		return nil, err
	}
	reading := &lease{locker: w.c.ReadLock().locker, key: own.key, owner: own.owner, valid: time.Now().Add(ttl)}
	done, err := downgradeScript.Run(ctx, w.c.rdb, readLockType.keys(own.key, own.owner),
		ttl.Milliseconds(), own.owner, publish, rwChannel(own.key)).Bool()
	if err != nil {
		return nil, fmt.Errorf("redisson: downgrade %s: %w", own.key, err)
	}
	own.end()
	if !done {
		return nil, lock.ErrLost
	}
	return reading, nil
}
