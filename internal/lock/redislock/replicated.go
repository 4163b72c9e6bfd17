package redislock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

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
	l.set = replicatedSetter{client, replicas, timeout}
	return l, nil
}

// A replicatedSetter sends SET and WAIT on one connection.
type replicatedSetter struct {
	client   *redis.Client
	replicas int
	timeout  time.Duration
}

// Do sends "set key token …" and WAIT after it. The result of WAIT matters only
// if the SET acquired the lock, or an earlier one did whose reply was lost.
func (s replicatedSetter) Do(ctx context.Context, args ...any) *redis.Cmd {
	pipe := s.client.Pipeline()
	set := pipe.Do(ctx, args...)
	wait := redis.NewIntCmd(ctx, "wait", s.replicas, driver.Milliseconds(s.timeout))
	_ = pipe.Process(ctx, wait)
	_, _ = pipe.Exec(ctx) // each command has its own error
	own := args[2].(*redisdriver.CountedString).Text
	switch acquired := errors.Is(set.Err(), redis.Nil) || set.Val() == own; {
	case !acquired:
	case wait.Err() != nil:
		set.SetErr(wait.Err())
	case wait.Val() < int64(s.replicas):
		set.SetErr(fmt.Errorf("%w: %d of %d", ErrUnreplicated, wait.Val(), s.replicas))
	}
	return set
}
