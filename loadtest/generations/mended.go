package main

import (
	"context"
	"errors"
	"time"

	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/lock/redislock"
)

// asked is a lock.Locker in the articles' shape: asked once, not renewed.
type asked struct {
	locker lock.Locker
	key    string
	lease  lock.Lease
}

func (l *asked) TryLock(ctx context.Context, ttl time.Duration) (bool, error) {
	lease, err := l.locker.TryLock(ctx, l.key, ttl)
	if errors.Is(err, lock.ErrLocked) {
		return false, nil
	}
	l.lease = lease
	return err == nil, err
}

func (l *asked) Unlock(ctx context.Context) error {
	if err := l.lease.Release(ctx); !errors.Is(err, lock.ErrLost) {
		return err
	}
	return nil
}

func (l *asked) Fence() uint64 { return l.lease.Fence() }

// replicated asks for one replica's acknowledgement, and begins to when it is
// first used.
type replicated struct {
	asked
	p *process
}

func (l *replicated) TryLock(ctx context.Context, ttl time.Duration) (bool, error) {
	locker, err := redislock.Replicated(ctx, l.p.nodes[0], 1, 300*time.Millisecond)
	if err != nil {
		return false, err
	}
	l.locker = locker
	ok, err := l.asked.TryLock(ctx, ttl)
	if errors.Is(err, redislock.ErrUnreplicated) {
		return false, nil
	}
	return ok, err
}

// kept is lock.Acquire in the articles' shape. What has been taken before and
// not let go of is in the context of what is taken next.
type kept struct {
	locker lock.Locker
	key    string
	o      lock.Options
	held   []*lock.Held
}

func (l *kept) TryLock(ctx context.Context, ttl time.Duration) (bool, error) {
	if n := len(l.held); n > 0 {
		ctx = l.held[n-1].Context()
	}
	l.o.TTL = ttl
	h, err := lock.Acquire(ctx, l.locker, l.key, l.o)
	if errors.Is(err, lock.ErrLocked) || errors.Is(err, lock.ErrLost) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	l.held = append(l.held, h)
	return true, nil
}

func (l *kept) Unlock(ctx context.Context) error {
	last := len(l.held) - 1
	h := l.held[last]
	l.held = l.held[:last]
	if err := h.Release(ctx); !errors.Is(err, lock.ErrLost) {
		return err
	}
	return nil
}

// Until is how long the holder may believe that it holds.
func (l *kept) Until() time.Time { return l.held[len(l.held)-1].Deadline() }
