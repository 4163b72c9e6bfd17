package redisson

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"example.com/flashsale/internal/lock"
)

var (
	semaphoreSetPermitsScript = script("semaphore_set_permits.lua")
	semaphoreAcquireScript    = script("semaphore_acquire.lua")
	semaphoreReleaseScript    = script("semaphore_release.lua")
)

func semaphoreChannel(name string) string { return prefixed("redisson_sc", name) }

// An RSemaphore is Redisson's RSemaphore: a number of permits without owners. A
// holder that dies keeps its permits for ever, and nothing stops a release of
// more than was taken; RPermitExpirableSemaphore has neither flaw.
//
// Its changes are not idempotent, so each is sent once only: after an error
// (other than lock.ErrLocked) it may or may not have happened.
type RSemaphore struct {
	c    *Client
	name string
}

// Semaphore names a semaphore; TrySetPermits makes it.
func (c *Client) Semaphore(name string) RSemaphore { return RSemaphore{c, name} }

// TrySetPermits gives a semaphore that is not there n permits, and reports
// whether it was so.
func (s RSemaphore) TrySetPermits(ctx context.Context, n int) (bool, error) {
	set, err := s.run(ctx, semaphoreSetPermitsScript, n).Bool()
	return set, s.wrap("set permits", err)
}

// AvailablePermits is how many permits are free; none, if there is no semaphore.
func (s RSemaphore) AvailablePermits(ctx context.Context) (int, error) {
	n, err := s.c.rdb.Get(ctx, s.name).Int()
	if errors.Is(err, redis.Nil) {
		return 0, nil
	}
	return n, s.wrap("read", err)
}

// TryAcquire takes n permits if that many are free, else it takes none and
// returns lock.ErrLocked.
func (s RSemaphore) TryAcquire(ctx context.Context, n int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	taken, err := s.run(ctx, semaphoreAcquireScript, n).Bool()
	if err == nil && !taken {
		return lock.ErrLocked
	}
	return s.wrap("acquire", err)
}

// Acquire waits until it has taken n permits, or returns lock.ErrLocked with the
// cause of ctx. Goroutines of one client are served in their order.
func (s RSemaphore) Acquire(ctx context.Context, n int) error {
	unlock, err := s.c.acquiring.lock(ctx, s.name)
	if err != nil {
		return fmt.Errorf("%w: %w", lock.ErrLocked, err)
	}
	defer unlock()
	return s.c.waitFor(ctx, semaphoreChannel(s.name), func(ctx context.Context) error { return s.TryAcquire(ctx, n) })
}

// Release gives n permits back, and makes the semaphore if it is not there.
func (s RSemaphore) Release(ctx context.Context, n int) error {
	return s.wrap("release", s.run(ctx, semaphoreReleaseScript, n).Err())
}

// AddPermits adds n permits, or takes -n away, even below zero.
func (s RSemaphore) AddPermits(ctx context.Context, n int) error {
	return s.Release(ctx, n)
}

func (s RSemaphore) run(ctx context.Context, script *redis.Script, n int) *redis.Cmd {
	publish, err := s.c.publishCommand(ctx)
	if err != nil {
		cmd := redis.NewCmd(ctx)
		cmd.SetErr(err)
		return cmd
	}
	return script.Run(ctx, noRetryClient{s.c.rdb}, []string{s.name}, n, publish, semaphoreChannel(s.name))
}

func (s RSemaphore) wrap(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("redisson: semaphore %s: %s: %w", s.name, what, err)
}
