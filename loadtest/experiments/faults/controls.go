package faults

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/flashsale/internal/lock"
	"example.com/flashsale/loadtest/holder"
)

// The controls are locks that must fail: a zero beside another lock means nothing
// where they do not.

// retryPause is how long a control waits before it asks again.
const retryPause = 50 * time.Millisecond

// withoutOwner is SET NX PX, whose release deletes the key of whoever holds it.
// Nothing tells the holder that its lease is over.
type withoutOwner struct{ rdb redis.UniversalClient }

// Acquire implements holder.Lock.
func (w withoutOwner) Acquire(ctx context.Context, key string, lease, wait time.Duration) (holder.Held, error) {
	if err := setNX(ctx, w.rdb, key, lease, wait); err != nil {
		return nil, err
	}
	return &unowned{rdb: w.rdb, key: key}, nil
}

// setNX asks until the key is set or the wait is over.
func setNX(ctx context.Context, rdb redis.UniversalClient, key string, lease, wait time.Duration) error {
	for end := time.Now().Add(wait); ; time.Sleep(retryPause) {
		err := rdb.SetArgs(ctx, key, 1, redis.SetArgs{Mode: "NX", TTL: lease}).Err()
		if !errors.Is(err, redis.Nil) {
			return err
		}
		if time.Now().After(end) {
			return lock.ErrLocked
		}
	}
}

type unowned struct {
	rdb redis.UniversalClient
	key string
}

func (u *unowned) Fence() uint64                     { return 0 }
func (u *unowned) Err() error                        { return nil }
func (u *unowned) Done() <-chan struct{}             { return nil }
func (u *unowned) Release(ctx context.Context) error { return u.rdb.Del(ctx, u.key).Err() }

// leaseFromReply counts its lease from the reply, not from the request, and
// extends it every third of it in the same way.
type leaseFromReply struct{ rdb redis.UniversalClient }

// Acquire implements holder.Lock.
func (l leaseFromReply) Acquire(ctx context.Context, key string, lease, wait time.Duration) (holder.Held, error) {
	if err := setNX(ctx, l.rdb, key, lease, wait); err != nil {
		return nil, err
	}
	e := &extended{unowned: unowned{l.rdb, key}, until: time.Now().Add(lease), stop: make(chan struct{})}
	go e.extend(lease)
	return e, nil
}

type extended struct {
	unowned
	mu    sync.Mutex
	until time.Time
	stop  chan struct{}
}

func (e *extended) extend(lease time.Duration) {
	for {
		select {
		case <-e.stop:
			return
		case <-time.After(lease / 3):
		}
		if ok, err := e.rdb.PExpire(context.Background(), e.key, lease).Result(); ok && err == nil {
			e.mu.Lock()
			e.until = time.Now().Add(lease)
			e.mu.Unlock()
		}
	}
}

func (e *extended) Err() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if time.Now().After(e.until) {
		return lock.ErrLost
	}
	return nil
}

func (e *extended) Release(ctx context.Context) error {
	close(e.stop)
	return e.unowned.Release(ctx)
}
