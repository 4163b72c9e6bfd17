package redisson

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/lock/driver"
	"example.com/flashsale/internal/lock/driver/redisdriver"
)

// A lease is one hold by one owner.
type lease struct {
	locker  locker
	key     string
	owner   string
	fence   uint64
	expiry  driver.Expiry
	noReply atomic.Bool // a release was sent and its reply was lost
	twice   bool        // the lock was requested more than once

	unnotified atomic.Bool
}

// Unnotified implements lock.NotifyingLease.
func (l *lease) Unnotified() bool { return l.unnotified.Load() }

// Fence implements lock.Lease. Only fenced locks have one.
func (l *lease) Fence() uint64 { return l.fence }

// keys returns all keys of the lock.
func (l *lease) keys() []string { return l.locker.typ.keys(l.key, l.owner) }

// member returns the owner in the lock's hash.
func (l *lease) member() string { return l.locker.typ.member(l.owner) }

// Extend implements lock.Lease.
func (l *lease) Extend(ctx context.Context, ttl time.Duration) error {
	typ := l.locker.typ
	return l.expiry.Extend(ttl, func() (extended bool, err error) {
		extended, err = redisdriver.Flag(redisdriver.Call(ctx, l.locker.c.rdb, typ.extend, typ.needed(l.key, l.owner),
			driver.Milliseconds(ttl), l.member()))
		if err != nil {
			err = fmt.Errorf("redisson: extend %s: %w", l.key, err)
		}
		return extended, err
	})
}

// Release implements lock.Lease. If its outcome is unknown, or the lock was requested twice, of
// which the server may run the first request after the release, it is repeated in the background.
func (l *lease) Release(ctx context.Context) error {
	start := time.Now()
	err := l.expiry.Release(func() (found, repeated bool, err error) {
		found, err = l.remove(ctx)
		if err != nil {
			err = fmt.Errorf("redisson: release %s: %w", l.key, err)
		}
		return found, l.noReply.Load(), err
	})
	if !errors.Is(err, lock.ErrLost) && (err != nil || l.twice) {
		l.locker.c.abandoned.Release(ctx, start, l.discard)
	}
	return err
}

// remove removes the hold, and whatever else belongs to the owner, from the
// server. It reports whether there was a hold.
func (l *lease) remove(ctx context.Context) (found bool, err error) {
	client, typ := l.locker.c, l.locker.typ
	const attempts = 3
	for range attempts {
		var unnotified bool
		found, unnotified, err = redisdriver.Released(typ.release.Run(ctx, noRetryClient{client.rdb}, l.keys(),
			l.member(), client.publish, typ.channel(l.key)))
		if err == nil {
			l.unnotified.Store(unnotified)
			return found, nil
		}
		l.noReply.Store(true)
	}
	return false, err
}

// discard removes what a request with an unknown outcome may have acquired. It
// returns nil if the server has replied, or if there is no client to ask it.
func (l *lease) discard(ctx context.Context) error {
	_, err := l.remove(ctx)
	return redisdriver.Discarded(err)
}
