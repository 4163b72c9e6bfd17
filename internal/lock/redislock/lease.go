package redislock

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

// A lease is one token in one key.
type lease struct {
	locker   *Locker
	key      string
	token    string
	fence    uint64
	repeated bool // the request that acquires the key
	expiry   driver.Expiry

	releases   atomic.Int64 // how often the release was sent
	unnotified atomic.Bool
}

// Unnotified implements lock.NotifyingLease.
func (l *lease) Unnotified() bool { return l.unnotified.Load() }

// Fence implements lock.Lease.
func (l *lease) Fence() uint64 { return l.fence }

// Extend implements lock.Lease.
func (l *lease) Extend(ctx context.Context, ttl time.Duration) error {
	return l.expiry.Extend(ttl, func() (extended bool, err error) {
		extended, err = redisdriver.Flag(redisdriver.Call(ctx, l.locker.rdb, extendScript, []string{l.key},
			driver.Milliseconds(ttl), l.token))
		if err != nil {
			err = fmt.Errorf("redislock: extend %s: %w", l.key, err)
		}
		return extended, err
	})
}

// Release implements lock.Lease. If its outcome is unknown, or the key was requested twice, of
// which the server may run the first request after the release, it is repeated in the background.
func (l *lease) Release(ctx context.Context) error {
	start := time.Now()
	err := l.expiry.Release(func() (found, repeated bool, err error) {
		if found, err = l.remove(ctx); err != nil {
			err = fmt.Errorf("redislock: release %s: %w", l.key, err)
		}
		return found, l.releases.Load() > 1, err
	})
	if !errors.Is(err, lock.ErrLost) && (err != nil || l.repeated) {
		l.locker.abandoned.Release(ctx, start, l.discard)
	}
	return err
}

// remove deletes the key if it holds the token, and reports whether it did.
func (l *lease) remove(ctx context.Context) (bool, error) {
	r := l.locker.do(ctx, request{l.key, l.token, 0})
	l.releases.Add(max(1, r.attempts))
	if r.err == nil && (r.value < 0 || r.value > unnotified) {
		r.err = r.unexpected()
	}
	l.unnotified.Store(r.err == nil && r.value == unnotified)
	return r.value > 0, r.err
}

// discard removes what a request with an unknown outcome may have acquired. It
// returns nil if the server has replied, or if there is no client to ask it.
func (l *lease) discard(ctx context.Context) error {
	_, err := l.remove(ctx)
	return redisdriver.Discarded(err)
}
