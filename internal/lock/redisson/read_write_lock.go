package redisson

import (
	"context"
	"errors"
	"fmt"
	"time"

	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/lock/driver"
	"example.com/flashsale/internal/lock/driver/redisdriver"
)

var readLockType = lockType{
	acquire: script("read_holds.lua", "read_acquire.lua"),
	release: script("notify.lua", "read_holds.lua", "read_release.lua"),
	extend:  script("read_extend.lua"),
	keys:    readKeys,
	needed:  readKeys,
	channel: rwChannel,
	member:  identity,
}

var writeLockType = lockType{
	acquire: script("read_holds.lua", "write_acquire.lua"),
	release: script("notify.lua", "write_release.lua"),
	extend:  rlockType.extend,
	keys:    nameOnly,
	needed:  nameOnly,
	channel: rwChannel,
	member:  func(owner string) string { return owner + ":write" },
}

var downgradeScript = script("notify.lua", "write_downgrade.lua")

func readKeys(name, owner string) []string {
	return []string{name, suffixed(name, owner+":rwlock_timeout:1")}
}

func rwChannel(name string) string { return prefixed("redisson_rwlock", name) }

// ReadLock returns the read lock of Redisson's RReadWriteLock. Its leases
// exclude writers, but not each other. As in Redisson, readers that come without a
// pause keep a writer waiting.
//
// A ttl must not be longer than the lockWatchdogTimeout of Java's readers, 30 s by default:
// their renewal sets the end of the whole lock. If they die, it ends, and a writer in either
// language enters beside the Go readers.
func (c *Client) ReadLock() RLock { return RLock{locker{c, &readLockType}} }

// WriteLock returns the write lock of Redisson's RReadWriteLock. Expired read
// holds do not block it, also when their holders died without a release.
func (c *Client) WriteLock() RWriteLock { return RWriteLock{RLock{locker{c, &writeLockType}}} }

// An RWriteLock is an RLock that can be downgraded.
type RWriteLock struct{ RLock }

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
	read := &lease{locker: w.c.ReadLock().locker, key: own.key, owner: own.owner}
	read.expiry.Begin(time.Now().Add(ttl))
	done, err := redisdriver.Flag(downgradeScript.Run(ctx, w.c.rdb, readLockType.keys(own.key, own.owner),
		driver.Milliseconds(ttl), own.owner, w.c.publish, rwChannel(own.key)))
	if err != nil {
		return nil, fmt.Errorf("redisson: downgrade %s: %w", own.key, err)
	}
	own.expiry.End()
	if !done {
		return nil, lock.ErrLost
	}
	return read, nil
}
