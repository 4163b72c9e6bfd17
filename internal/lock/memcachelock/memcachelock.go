// Package memcachelock is a lock on memcached, for efficiency only: it spares
// work that may be done twice, and protects nothing that must not be. A full
// memcached evicts the key, a restarted one has forgotten it, and either frees
// the lock under its holder. There is no fence, for memcached would forget
// that too.
package memcachelock

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/bradfitz/gomemcache/memcache"

	"example.com/flashsale/internal/lock"
)

// A Locker takes keys as they are given.
type Locker struct{ mc *memcache.Client }

// New returns a locker that uses mc. The client's Timeout bounds every call;
// a context is only looked at before one.
func New(mc *memcache.Client) *Locker { return &Locker{mc} }

// TryLock implements lock.Locker.
func (l *Locker) TryLock(ctx context.Context, key string, ttl time.Duration) (lock.Lease, error) {
	end, err := expiration(ttl)
	if err := errors.Join(err, ctx.Err()); err != nil {
		return nil, err
	}
	held := &lease{mc: l.mc, key: key, token: rand.Text()}
	err = l.mc.Add(&memcache.Item{Key: key, Value: []byte(held.token), Expiration: end})
	switch {
	case err == nil:
		return held, nil
	case errors.Is(err, memcache.ErrNotStored):
		return nil, lock.ErrLocked
	}
	_ = held.expire(gone) // what a lost reply may have granted
	return nil, fmt.Errorf("memcachelock: take %s: %w", key, err)
}

// A lease is one token in one key.
type lease struct {
	mc    *memcache.Client
	key   string
	token string
}

// Fence implements lock.Lease: there is none.
func (l *lease) Fence() uint64 { return 0 }

// Extend implements lock.Lease.
func (l *lease) Extend(ctx context.Context, ttl time.Duration) error {
	end, err := expiration(ttl)
	if err := errors.Join(err, ctx.Err()); err != nil {
		return err
	}
	if err := l.expire(end); err != nil {
		return fmt.Errorf("memcachelock: extend %s: %w", l.key, err)
	}
	return nil
}

// Release implements lock.Lease.
func (l *lease) Release(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := l.expire(gone); err != nil {
		return fmt.Errorf("memcachelock: release %s: %w", l.key, err)
	}
	return nil
}

// gone is an expiration in the past.
const gone = -1

// expire sets the key's end if it still has our token: the classic protocol
// has no conditional delete or touch, but it can store on the condition that
// nobody has stored since we looked.
func (l *lease) expire(expiration int32) error {
	item, err := l.mc.Get(l.key)
	if err == nil && string(item.Value) != l.token {
		return lock.ErrLost
	}
	if err == nil {
		item.Expiration = expiration
		err = l.mc.CompareAndSwap(item)
	}
	for _, lost := range []error{memcache.ErrCacheMiss, memcache.ErrCASConflict, memcache.ErrNotStored} {
		if errors.Is(err, lost) {
			return lock.ErrLost
		}
	}
	return err
}

// expiration is ttl in whole seconds and one more, for memcached's clock ticks
// once a second and the first tick may come at once.
func expiration(ttl time.Duration) (int32, error) {
	const most = 30 * 24 * time.Hour // memcached takes more for a date
	if ttl > most-time.Second {
		return 0, fmt.Errorf("memcachelock: ttl of %s, want less than %s", ttl, most)
	}
	return int32((ttl+time.Second-1)/time.Second) + 1, nil
}
