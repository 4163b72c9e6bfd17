package redisson

import (
	"context"
	"math"

	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/lock/driver/redisdriver"
)

var (
	semaphoreSetPermitsScript = script("notify.lua", "semaphore_set_permits.lua")
	semaphoreAcquireScript    = script("semaphore_acquire.lua")
	semaphoreReleaseScript    = freeing("notify.lua", "semaphore_release.lua")
)

func semaphoreChannel(name string) string { return prefixed("redisson_sc", name) }

// An RSemaphore is Redisson's RSemaphore: a number of permits without owners.
// The permits of a holder that dies are never returned, and a holder can
// release more than it acquired. An RPermitExpirableSemaphore has neither
// problem.
//
// Each change is sent only once: after an error other than lock.ErrLocked it may or may not
// have happened. A negative
// number, or one that is no int in Java, is lock.ErrInvalid.
type RSemaphore struct{ counter }

// Semaphore returns the semaphore with the given name. TrySetPermits creates it
// in Redis.
func (c *Client) Semaphore(name string) RSemaphore {
	return RSemaphore{counter{c, name, semaphoreChannel(name)}}
}

// TrySetPermits creates the semaphore with n permits. It reports false, and
// changes nothing, if the semaphore exists.
func (s RSemaphore) TrySetPermits(ctx context.Context, n int) (bool, error) {
	set, err := redisdriver.Flag(s.run(ctx, semaphoreSetPermitsScript, 0, n))
	return set, s.wrap("set permits", err)
}

// AvailablePermits returns the number of free permits, 0 if the semaphore does
// not exist.
func (s RSemaphore) AvailablePermits(ctx context.Context) (int, error) { return s.value(ctx) }

// TryAcquire acquires n permits at once. It acquires none and returns
// lock.ErrLocked if fewer than n are free.
func (s RSemaphore) TryAcquire(ctx context.Context, n int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	acquired, err := redisdriver.Flag(s.run(ctx, semaphoreAcquireScript, 0, n))
	if err == nil && !acquired {
		return lock.ErrLocked
	}
	return s.wrap("acquire", err)
}

// Acquire waits until it has acquired n permits. When ctx ends first, it returns
// lock.ErrLocked with the cause of ctx.
func (s RSemaphore) Acquire(ctx context.Context, n int) error {
	return s.c.waitFor(ctx, s.channel, func(ctx context.Context) error { return s.TryAcquire(ctx, n) })
}

// Release returns n permits. It creates the semaphore if it does not exist.
func (s RSemaphore) Release(ctx context.Context, n int) error { return s.add(ctx, 0, n) }

func (s RSemaphore) add(ctx context.Context, least, n int) error {
	return s.wrap("release", s.run(ctx, semaphoreReleaseScript, least, n).Err())
}

// AddPermits changes the number of free permits by n. The number can become
// negative.
func (s RSemaphore) AddPermits(ctx context.Context, n int) error {
	return s.add(ctx, -math.MaxInt32, n)
}
