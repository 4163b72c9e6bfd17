package redislock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/lock/driver"
	"example.com/flashsale/internal/lock/driver/redisdriver"
)

// ErrUnreplicated reports that too few replicas had the lock in time. The driver
// has then tried to release it.
var ErrUnreplicated = errors.New("redislock: too few replicas")

// Replicated returns a locker like New's that grants a lock only when at least
// replicas of the server's replicas have received it within timeout, by WAIT.
// Otherwise TryLock returns ErrUnreplicated.
//
// That makes the loss of a lock in a failover less likely, and does not prevent
// it: a replica without the key may be promoted unless replicas is all of them,
// and extensions and releases do not wait. What must not happen twice still
// needs a fence.
//
// Timeout must be less than the client's read timeout. Replicated returns an
// error for a server without WAIT, and for a cluster, whose client cannot send
// WAIT on the connection of the write before it.
func Replicated(ctx context.Context, rdb redis.UniversalClient, replicas int, timeout time.Duration) (*Locker, error) {
	client, ok := rdb.(*redis.Client)
	if !ok {
		return nil, errors.New("redislock: WAIT needs a single master")
	}
	if limit := client.Options().ReadTimeout; replicas < 1 || timeout < time.Millisecond || timeout >= limit {
		return nil, fmt.Errorf("redislock: %d replicas within %s, want at least 1 within 1ms to the client's %s",
			replicas, timeout, limit)
	}
	if err := client.Do(ctx, "wait", 0, 1).Err(); err != nil {
		return nil, fmt.Errorf("redislock: WAIT: %w", err)
	}
	l := New(rdb)
	l.acquire = func(ctx context.Context, lease *lease, ttl time.Duration) error {
		return acquireReplicated(ctx, client, lease, ttl, replicas, timeout)
	}
	return l, nil
}

// acquireReplicated sends SET and WAIT on one connection. If the lock was acquired by an
// earlier SET whose reply was lost, WAIT says nothing: Valkey 9 waits for writes of its own
// connection only, and this one has none.
func acquireReplicated(
	ctx context.Context, client *redis.Client, lease *lease, ttl time.Duration, replicas int, timeout time.Duration,
) error {
	token := redisdriver.CountedString{Text: lease.token}
	pipe := client.Pipeline()
	set := pipe.Do(ctx, "set", lease.key, &token, "nx", "get", "px", driver.Milliseconds(ttl))
	wait := redis.NewIntCmd(ctx, "wait", replicas, driver.Milliseconds(timeout))
	_ = pipe.Process(ctx, wait)
	left := pipe.PTTL(ctx, lease.key)
	_, _ = pipe.Exec(ctx) // each command has its own error
	lease.repeated = token.Count() > 1
	holder, err := set.Text()
	switch {
	case err != nil && !errors.Is(err, redis.Nil): // which says that there was no holder
		return err
	case err == nil && holder != lease.token:
		return lock.Locked(left.Val()) // negative without an expiry, 0 without a reply
	case err == nil:
		return fmt.Errorf("%w: not known how many, after a lost reply", ErrUnreplicated)
	case wait.Err() != nil:
		return wait.Err()
	case wait.Val() < int64(replicas):
		return fmt.Errorf("%w: %d of %d", ErrUnreplicated, wait.Val(), replicas)
	}
	return nil
}
