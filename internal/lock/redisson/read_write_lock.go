package redisson

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/lock/driver"
	"example.com/flashsale/internal/lock/driver/redisdriver"
)

var readLockType = lockType{
	acquire: script("read_holds.lua", "read_acquire.lua"),
	release: script("notify.lua", "read_holds.lua", "read_release.lua"),
	extend:  script("read_extend.lua"),
	keys: func(name, owner string) []string {
		return []string{name, suffixed(name, owner+":rwlock_timeout:1"), writerWaitsKey(name)}
	},
	needed: func(name, owner string) []string {
		return []string{name, suffixed(name, owner+":rwlock_timeout:1")}
	},
	channel: rwChannel,
	member:  identity,
}

var writeLockType = lockType{
	acquire: script("read_holds.lua", "write_acquire.lua"),
	release: script("notify.lua", "write_release.lua"),
	extend:  rlockType.extend,
	keys:    func(name, _ string) []string { return []string{name, writerWaitsKey(name)} },
	needed:  nameOnly,
	channel: rwChannel,
	member:  func(owner string) string { return owner + ":write" },
}

var downgradeScript = script("notify.lua", "write_downgrade.lua")

func rwChannel(name string) string { return prefixed("redisson_rwlock", name) }

// writerWaitsKey returns a key that Redisson does not have. It exists while a
// Go writer waits for readers.
func writerWaitsKey(name string) string { return suffixed(name, " rwlock_writer_waits") }

// writerWaitsTTL is how long new Go readers are refused after a waiting writer
// was refused. The writer's next attempt starts the time again.
const writerWaitsTTL = 2 * time.Second

// ReadLock returns the read lock of Redisson's RReadWriteLock. Its leases
// exclude writers, but not each other.
//
// While a Go writer waits, new Go readers are refused, so that they do not
// starve the writer. Code that acquires a read lock twice can therefore wait
// for its own first hold, unless it uses lock.Options.Reentrant. New Java
// readers are not refused: Redisson's format has no key for that.
func (c *Client) ReadLock() RLock { return RLock{locker{c, &readLockType}} }

// WriteLock returns the write lock of Redisson's RReadWriteLock. Expired read
// holds do not block it, also when their holders died without a release.
func (c *Client) WriteLock() RWriteLock { return RWriteLock{RLock{locker{c, &writeLockType}}} }

// An RWriteLock is an RLock whose waiters keep new Go readers out.
type RWriteLock struct{ RLock }

// TryLock implements lock.Locker. A refused call keeps new Go readers out only
// if a goroutine of this client waits for key by Notify.
func (w RWriteLock) TryLock(ctx context.Context, key string, ttl time.Duration) (lock.Lease, error) {
	var refuseReaders int64 // ms
	if w.c.waitingWriters.has(key) {
		refuseReaders = writerWaitsTTL.Milliseconds()
	}
	lease, _, err := w.try(ctx, key, w.c.newOwner(), ttl, refuseReaders)
	if err != nil {
		return nil, err
	}
	return lease, nil
}

// Notify implements lock.Notifier.
func (w RWriteLock) Notify(key string, wake chan<- struct{}) (stop func(), err error) {
	unsubscribe, err := w.RLock.Notify(key, wake)
	if err != nil {
		return nil, err
	}
	w.c.waitingWriters.add(key, 1)
	return sync.OnceFunc(func() {
		unsubscribe()
		w.c.waitingWriters.add(key, -1)
	}), nil
}

// Downgrade turns a write lease of this lock into a read lease in one step, so
// that no other writer can acquire the lock between them. It notifies the
// waiting readers, which Redisson does not. After an error other than
// lock.ErrLost, the write lease may still be valid.
func (w RWriteLock) Downgrade(ctx context.Context, write lock.Lease, ttl time.Duration) (lock.Lease, error) {
	own, ok := write.(*lease)
	if !ok || own.locker != w.locker {
		return nil, errors.New("redisson: not a write lease of this client")
	}
	if own.expiry.Ended() {
		return nil, lock.ErrLost
	}
	publish, err := w.c.publishCommand(ctx)
	if err != nil {
		return nil, err
	}
	read := &lease{locker: w.c.ReadLock().locker, key: own.key, owner: own.owner}
	read.expiry.Begin(time.Now().Add(ttl))
	done, err := redisdriver.Flag(downgradeScript.Run(ctx, w.c.rdb, readLockType.keys(own.key, own.owner),
		driver.Milliseconds(ttl), own.owner, publish, rwChannel(own.key)))
	if err != nil {
		return nil, fmt.Errorf("redisson: downgrade %s: %w", own.key, err)
	}
	own.expiry.End()
	if !done {
		return nil, lock.ErrLost
	}
	return read, nil
}
