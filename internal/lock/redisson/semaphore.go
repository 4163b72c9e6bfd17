package redisson

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/redis/go-redis/v9"

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
// The changes are not idempotent, so each is sent only once. After an error
// other than lock.ErrLocked the change may or may not have happened. A negative
// number, or one that is no int in Java, is lock.ErrInvalid.
type RSemaphore struct {
	c    *Client
	name string
}

// Semaphore returns the semaphore with the given name. TrySetPermits creates it
// in Redis.
func (c *Client) Semaphore(name string) RSemaphore { return RSemaphore{c, name} }

// TrySetPermits creates the semaphore with n permits. It reports false, and
// changes nothing, if the semaphore exists.
func (s RSemaphore) TrySetPermits(ctx context.Context, n int) (bool, error) {
	set, err := redisdriver.Flag(s.run(ctx, semaphoreSetPermitsScript, 0, n))
	return set, s.wrap("set permits", err)
}

// AvailablePermits returns the number of free permits, 0 if the semaphore does
// not exist.
func (s RSemaphore) AvailablePermits(ctx context.Context) (int, error) {
	n, err := s.c.rdb.Get(ctx, s.name).Int()
	if errors.Is(err, redis.Nil) {
		return 0, nil
	}
	return n, s.wrap("read", err)
}

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
	return s.c.waitFor(ctx, semaphoreChannel(s.name), func(ctx context.Context) error { return s.TryAcquire(ctx, n) })
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

func (s RSemaphore) run(ctx context.Context, script *redis.Script, least, n int) *redis.Cmd {
	publish, err := s.c.publishCommand(ctx)
	if err = errors.Join(checkNumber(n, least), err); err != nil {
		cmd := redis.NewCmd(ctx)
		cmd.SetErr(err)
		return cmd
	}
	return script.Run(ctx, noRetryClient{s.c.rdb}, []string{s.name}, n, publish, semaphoreChannel(s.name))
}

// checkNumber accepts what is at least least and an int in Java.
func checkNumber(n, least int) error {
	if n < least || n > math.MaxInt32 {
		return fmt.Errorf("%w: number %d, want %d to %d", lock.ErrInvalid, n, least, math.MaxInt32)
	}
	return nil
}

func (s RSemaphore) wrap(operation string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("redisson: semaphore %s: %s: %w", s.name, operation, err)
}
