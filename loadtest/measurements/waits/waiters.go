package waits

import (
	"context"
	"errors"
	"time"

	"example.com/flashsale/internal/lock"
)

// ttl is longer than any row.
const ttl = time.Minute

type (
	release func(context.Context) error
	acquire func(ctx context.Context, key string) (release, error)
)

// A waiter is one way to wait for a lock of a Locker.
type waiter struct {
	name   string
	open   func(lock.Locker) acquire
	leaves bool // without the lock, and comes again later
}

var waiters = []waiter{
	{name: "spin", open: spin},
	{name: "poll", open: func(l lock.Locker) acquire { return wait(struct{ lock.Locker }{l}) }}, // hides notifications
	{name: "notification", open: wait},
	{name: "give up", open: once, leaves: true},
}

// once requests the lock once.
func once(l lock.Locker) acquire {
	return func(ctx context.Context, key string) (release, error) {
		lease, err := l.TryLock(ctx, key, ttl)
		if err != nil {
			return nil, err
		}
		return lease.Release, nil
	}
}

// spin requests the lock again at once until it has it.
func spin(l lock.Locker) acquire {
	request := once(l)
	return func(ctx context.Context, key string) (release, error) {
		for {
			if r, err := request(ctx, key); !errors.Is(err, lock.ErrLocked) {
				return r, err
			}
		}
	}
}

// wait waits as lock.Client does: for a notification where l sends some, otherwise
// with pauses that grow up to 200 ms.
func wait(l lock.Locker) acquire {
	client := lock.New(l)
	return func(ctx context.Context, key string) (release, error) {
		held, err := client.Acquire(ctx, key, lock.Options{TTL: ttl, Wait: -1, NoRenewal: true})
		if err != nil {
			return nil, err
		}
		return held.Release, nil
	}
}
