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

// cleanupTimeout bounds the release after an acquisition whose outcome is
// unknown.
const cleanupTimeout = 500 * time.Millisecond

// A locker is the part that all lock types share.
type locker struct {
	c   *Client
	typ *lockType
}

// TryLock implements lock.Locker.
func (l locker) TryLock(ctx context.Context, key string, ttl time.Duration) (lock.Lease, error) {
	lease, _, err := l.try(ctx, key, l.c.newOwner(), ttl, "")
	return lease, err
}

// try sends the acquire script once. With lock.ErrLocked it also returns the
// script's reply.
func (l locker) try(ctx context.Context, key, owner string, ttl time.Duration, wait any) (lock.Lease, int64, error) {
	if err := errors.Join(checkName(key), ctx.Err()); err != nil {
		return nil, 0, err
	}
	lease := &lease{locker: l, key: key, owner: owner}
	start := time.Now()
	lease.expiry.Begin(start.Add(ttl))
	reply, err := l.acquire(ctx, lease, ttl, wait)
	switch {
	case err != nil:
		l.c.abandoned.Release(ctx, start, lease.discard)
		return nil, 0, fmt.Errorf("redisson: acquire %s: %w", key, err)
	case reply < 0:
		return nil, reply, l.typ.locked(reply)
	}
	lease.fence = uint64(reply)
	return lease, 0, nil
}

func (l locker) acquire(ctx context.Context, lease *lease, ttl time.Duration, wait any) (int64, error) {
	member := redisdriver.CountedString{Text: lease.member()}
	reply, err := redisdriver.Integer(redisdriver.Call(ctx, l.c.rdb, l.typ.acquire, lease.keys(),
		driver.Milliseconds(ttl), &member, l.c.publish, l.typ.channel(lease.key), wait))
	lease.twice = member.Count() > 1
	if fenced := l.typ == &fencedLockType; err == nil && reply >= 0 && fenced != (reply > 0) {
		err = fmt.Errorf("unexpected reply %d", reply)
	}
	return reply, err
}

// Drain implements lock.Drainer for all locks of the client.
func (l locker) Drain(ctx context.Context) { l.c.abandoned.Drain(ctx) }
