package redislock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// ErrUnreplicated says that a lock was not granted because too few replicas
// had it in time. The driver has tried to let go of it again.
var ErrUnreplicated = errors.New("redislock: too few replicas")

// Replicated returns a locker like New's that grants a lock only when at least
// replicas of the server's replicas have it too, within timeout (by WAIT);
// otherwise TryLock returns ErrUnreplicated.
//
// That makes it rarer that a failover loses a lock, and no more: nothing keeps
// a replica without it from being promoted, unless replicas is all of them,
// and neither extensions nor releases are waited for. What must not happen
// twice needs a fence still.
//
// Timeout must be below the client's read timeout. A server without WAIT, and
// a cluster, whose client cannot tie WAIT to the write before it, are errors
// here and not later.
func Replicated(ctx context.Context, rdb redis.UniversalClient, replicas int, timeout time.Duration) (*Locker, error) {
	client, ok := rdb.(*redis.Client)
	if !ok {
		return nil, errors.New("redislock: WAIT needs one master, not a cluster")
	}
	if answer := client.Options().ReadTimeout; replicas < 1 || timeout < time.Millisecond || timeout >= answer {
		return nil, fmt.Errorf("redislock: %d replicas within %s, want at least 1 within 1ms to the client's %s", replicas, timeout, answer)
	}
	if err := client.Do(ctx, "wait", 0, 1).Err(); err != nil {
		return nil, fmt.Errorf("redislock: WAIT: %w", err)
	}
	l := New(rdb)
	l.send = acknowledged{client, replicas, timeout}
	return l, nil
}

// acknowledged is how SET is sent: with WAIT behind it on its connection.
type acknowledged struct {
	*redis.Client
	replicas int
	timeout  time.Duration
}

// Do sends "set key token …" (see ask). Who did not get the lock has nothing
// to wait for.
func (a acknowledged) Do(ctx context.Context, args ...any) *redis.Cmd {
	pipe := a.Pipeline()
	set := pipe.Do(ctx, args...)
	acks := redis.NewIntCmd(ctx, "wait", a.replicas, a.timeout.Milliseconds())
	_ = pipe.Process(ctx, acks)
	_, _ = pipe.Exec(ctx) // both have their own errors
	switch granted := errors.Is(set.Err(), redis.Nil) || set.Val() == args[2]; {
	case !granted:
	case acks.Err() != nil:
		set.SetErr(acks.Err())
	case acks.Val() < int64(a.replicas):
		set.SetErr(fmt.Errorf("%w: %d of %d", ErrUnreplicated, acks.Val(), a.replicas))
	}
	return set
}
