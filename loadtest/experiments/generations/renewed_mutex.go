package generations

import (
	"context"
	"time"
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
func threadRenewed(p *process, key string) mutex {
	renew := func(ctx context.Context, ttl time.Duration) error { return p.nodes[0].PExpire(ctx, key, ttl).Err() }
	return &renewedMutex{mutex: &luaLock{owned(p, key)}, every: 2, renew: renew}
}

// printedWatchdog is Redisson's scheduleExpirationRenewal as printed: every third of
// the lease, for its owner only, and after a failure no more.
func printedWatchdog(p *process, key string) mutex {
	l := newLockerMutex(p, "redisson", key)
	renew := func(ctx context.Context, ttl time.Duration) error { return l.lease.Extend(ctx, ttl) }
	return &renewedMutex{mutex: l, every: 1, stops: true, renew: renew}
}
