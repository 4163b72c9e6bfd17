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

// heartbeat is how often a waiter moves its deadline in the queue, which is 3 s
// ahead (go_timeout in fair_queue.lua). It also bounds the delay after a lost
// message.
const heartbeat = time.Second

var fairLockType = lockType{
	acquire: script("notify.lua", "fair_queue.lua", "fair_acquire.lua"),
	release: script("notify.lua", "fair_queue.lua", "fair_release.lua"),
	extend:  rlockType.extend,
	keys: func(name, _ string) []string {
		return []string{name, prefixed("redisson_lock_queue", name), prefixed("redisson_lock_timeout", name)}
	},
	needed:  nameOnly,
	channel: lockChannel, // a waiter's channel is this, a colon and its owner
	member:  identity,
}

// FairLock returns Redisson's fair lock. Its waiters, in Go and in Java, get
// the lock in the order in which their first requests reached the server.
//
// A waiter that dies, or cannot reach the server, is removed from the queue 3 s after it
// has become the head: in Java only if the lock is free by then and a Go waiter is behind
// it. A waiter that was removed while it lived joins the queue again at its end. When all
// other waiters are in Java, a dead waiter that was behind a Java waiter can stay for that
// waiter's wait time (5 minutes by default) or longer.
//
// Go writes deadlines by the clock of the server, Java by its own. Keep these
// clocks synchronized.
func (c *Client) FairLock() RFairLock { return RFairLock{locker{c, &fairLockType}} }

// An RFairLock is a lock.BlockingLocker.
type RFairLock struct{ locker }

// TryLock implements lock.Locker. It does not join the queue, and is refused
// while the queue is not empty.
func (f RFairLock) TryLock(ctx context.Context, key string, ttl time.Duration) (lock.Lease, error) {
	lease, _, err := f.try(ctx, key, f.c.newOwner(), ttl, 0)
	return lease, err
}

// Lock implements lock.BlockingLocker. An error of the server also ends the
// wait.
func (f RFairLock) Lock(ctx context.Context, key string, ttl time.Duration) (lock.Lease, error) {
	owner := f.c.newOwner()
	wake := make(chan struct{}, 1)
	for listening := false; ; {
		lease, reply, err := f.try(ctx, key, owner, ttl, 1)
		switch {
		case err == nil:
			return lease, nil
		case ctx.Err() != nil:
			return nil, f.leaveQueue(ctx, key, owner)
		case !errors.Is(err, lock.ErrLocked):
			return nil, err // try has left the queue
		}
		lock.Queued(ctx)
		if !listening {
			listening = true
			defer f.c.messages.Listen(f.typ.channel(key)+":"+owner, wake)()
		}
		select {
		case <-wake:
		case <-time.After(min(redisdriver.TimeLeft(-reply), heartbeat)):
		case <-ctx.Done():
			return nil, f.leaveQueue(ctx, key, owner)
		}
	}
}

// leaveQueue removes owner from the queue after ctx has ended. It returns
// lock.ErrLocked with the cause of ctx, or the error of the removal.
func (f RFairLock) leaveQueue(ctx context.Context, key, owner string) error {
	locked := fmt.Errorf("%w: %w", lock.ErrLocked, context.Cause(ctx))
	ctx, cancel := driver.Cleanup(ctx, cleanupTimeout)
	defer cancel()
	waiter := &lease{locker: f.locker, key: key, owner: owner}
	if _, err := waiter.remove(ctx); err != nil {
		return fmt.Errorf("redisson: leave the queue of %s: %w", key, err)
	}
	return locked
}

// Queue returns the owners that wait for key, the next one first.
func (f RFairLock) Queue(ctx context.Context, key string) ([]string, error) {
	return f.c.rdb.LRange(ctx, prefixed("redisson_lock_queue", key), 0, -1).Result()
}

// Inspect returns the holder of key.
func (f RFairLock) Inspect(ctx context.Context, key string) (Info, error) {
	return f.c.inspect(ctx, key)
}

// ForceUnlock frees key without regard to its holder, and notifies the next
// waiter in the queue.
func (f RFairLock) ForceUnlock(ctx context.Context, key string) error {
	return f.c.change(ctx, forceUnlock, fairForceUnlockScript, f.typ.keys(key, ""), f.typ.channel(key))
}
