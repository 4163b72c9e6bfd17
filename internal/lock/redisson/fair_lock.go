package redisson

import (
	"context"
	"errors"
	"fmt"
	"time"

	"example.com/flashsale/internal/lock"
)

// heartbeat is how often a waiter puts its deadline off, and so also how late it
// learns of a wake-up that was lost. Its patience, in fair_queue.lua, is 3 s.
const heartbeat = time.Second

var fairLockType = lockType{
	acquire: script("fair_queue.lua", "fair_acquire.lua"),
	release: script("fair_queue.lua", "fair_release.lua"),
	extend:  rlockType.extend,
	keys: func(name, _ string) []string {
		return []string{name, prefixed("redisson_lock_queue", name), prefixed("redisson_lock_timeout", name)}
	},
	channel: lockChannel, // a waiter's own is this, a colon and its owner
	member:  identity,
}

// FairLock is Redisson's RFairLock: whoever waits is served in the order in
// which the server saw them, Go and Java alike.
//
// A Go waiter that dies leaves the queue 3 s after it has become its head, and
// so does one that is out of reach for that long: it queues anew. With only
// Java left to look, one that died behind Java waiters may stay for their wait
// time, by default 5 minutes, as Java's own dead do. Deadlines are by the
// server's clock, Java's by its own: keep them together.
func (c *Client) FairLock() RFairLock { return RFairLock{locker{c, &fairLockType}} }

// An RFairLock waits by itself (lock.BlockingLocker). Its TryLock does not queue, and
// does not overtake those who do.
type RFairLock struct{ locker }

// TryLock implements lock.Locker.
func (f RFairLock) TryLock(ctx context.Context, key string, ttl time.Duration) (lock.Lease, error) {
	lease, _, err := f.try(ctx, key, f.c.newOwner(), ttl, 0)
	if err != nil {
		return nil, err
	}
	return lease, nil
}

// Lock implements lock.BlockingLocker. An error of the server ends the waiting too.
func (f RFairLock) Lock(ctx context.Context, key string, ttl time.Duration) (lock.Lease, error) {
	owner := f.c.newOwner()
	wake := make(chan struct{}, 1)
	for listening := false; ; {
		got, retry, err := f.try(ctx, key, owner, ttl, 1)
		switch {
		case err == nil:
			return got, nil
		case ctx.Err() != nil:
			return nil, f.giveUp(ctx, key, owner)
		case !errors.Is(err, lock.ErrLocked):
			return nil, err // try has left the queue
		}
		if !listening {
			listening = true
			defer f.c.hub.listen(f.typ.channel(key)+":"+owner, wake)()
		}
		select {
		case <-wake:
		case <-time.After(min(time.Duration(-retry)*time.Millisecond, heartbeat)):
		case <-ctx.Done():
			return nil, f.giveUp(ctx, key, owner)
		}
	}
}

// giveUp leaves the queue, whatever has become of ctx.
func (f RFairLock) giveUp(ctx context.Context, key, owner string) error {
	held := fmt.Errorf("%w: %w", lock.ErrLocked, context.Cause(ctx))
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
	defer cancel()
	waiter := &lease{locker: f.locker, key: key, owner: owner}
	if _, err := waiter.drop(ctx); err != nil {
		return fmt.Errorf("redisson: leave the queue of %s: %w", key, err)
	}
	return held
}

// Queue lists the owners that wait for key, the next one first.
func (f RFairLock) Queue(ctx context.Context, key string) ([]string, error) {
	return f.c.rdb.LRange(ctx, prefixed("redisson_lock_queue", key), 0, -1).Result()
}

// Inspect tells who holds key.
func (f RFairLock) Inspect(ctx context.Context, key string) (Info, error) {
	return f.c.inspect(ctx, key)
}

// ForceUnlock takes key from whoever holds it, and wakes the next in the queue.
func (f RFairLock) ForceUnlock(ctx context.Context, key string) error {
	return f.c.force(ctx, fairForceUnlockScript, f.typ.keys(key, ""), f.typ.channel(key))
}
