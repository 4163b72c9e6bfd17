package generations

import (
	"context"
	"errors"
	"time"

	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/lock/redisson"
)

// A renewedMutex renews its lock in a goroutine, as the articles do.
type renewedMutex struct {
	mutex
	renew func(ctx context.Context, ttl time.Duration) error
	every int  // thirds of the ttl
	stops bool // at the first renewal that fails

	stop context.CancelFunc
}

func (m *renewedMutex) TryLock(ctx context.Context, ttl time.Duration) (bool, error) {
	ok, err := m.mutex.TryLock(ctx, ttl)
	if !ok || err != nil {
		return ok, err
	}
	ctx, m.stop = context.WithCancel(ctx)
	go m.renewUntil(ctx, ttl)
	return true, nil
}

func (m *renewedMutex) renewUntil(ctx context.Context, ttl time.Duration) {
	ticker := time.NewTicker(ttl * time.Duration(m.every) / 3)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if err := m.renew(ctx, ttl); err != nil && m.stops {
			return
		}
	}
}

func (m *renewedMutex) Unlock(ctx context.Context) error {
	m.stop()
	return m.mutex.Unlock(ctx)
}

// threadRenewed has the thread that sets the time to live again every 20 of 30 s. It
// compares no owner.
func threadRenewed(p *process) mutex {
	renew := func(ctx context.Context, ttl time.Duration) error { return p.nodes[0].PExpire(ctx, p.key, ttl).Err() }
	return &renewedMutex{mutex: &luaLock{owned(p)}, every: 2, renew: renew}
}

// printedWatchdog is Redisson's scheduleExpirationRenewal as printed: every third of
// the lease, for its owner only, and after a failure no more.
func printedWatchdog(p *process) mutex {
	l := &redissonMutex{locker: redisson.New(p.nodes[0]).Lock(), key: p.key}
	renew := func(ctx context.Context, ttl time.Duration) error { return l.lease.Extend(ctx, ttl) }
	return &renewedMutex{mutex: l, every: 1, stops: true, renew: renew}
}

// redissonMutex is Redisson's lock without its watchdog.
type redissonMutex struct {
	locker lock.Locker
	key    string
	lease  lock.Lease
}

func (m *redissonMutex) TryLock(ctx context.Context, ttl time.Duration) (bool, error) {
	lease, err := m.locker.TryLock(ctx, m.key, ttl)
	if errors.Is(err, lock.ErrLocked) {
		return false, nil
	}
	m.lease = lease
	return err == nil, err
}

func (m *redissonMutex) Unlock(ctx context.Context) error { return m.lease.Release(ctx) }
