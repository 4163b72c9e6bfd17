package generations

import (
	"context"
	"errors"
	"time"

	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/lock/drivers"
	"example.com/flashsale/internal/lock/redislock"
)

// A driven opens the driver of a mutex at the mutex's first TryLock, because newMutex
// cannot return an error.
type driven struct {
	p      *process
	driver string // by its name in package drivers
	locker lock.Locker
}

func (d *driven) open(ctx context.Context, ttl time.Duration) error {
	if d.locker != nil {
		return nil
	}
	opened, err := drivers.Open(ctx, d.driver,
		drivers.Servers{Redis: d.p.nodes, ZooKeeper: []string{d.p.zookeeper}, Session: ttl})
	if err != nil {
		return err
	}
	d.locker, d.p.sessions = opened.Locker, append(d.p.sessions, opened.Close)
	return nil
}

// lockerMutex adapts a lock.Locker to mutex. It tries once and does not renew.
type lockerMutex struct {
	driven
	key   string
	lease lock.Lease
}

func (m *lockerMutex) TryLock(ctx context.Context, ttl time.Duration) (bool, error) {
	if err := m.open(ctx, ttl); err != nil {
		return false, err
	}
	lease, err := m.locker.TryLock(ctx, m.key, ttl)
	if errors.Is(err, lock.ErrLocked) || errors.Is(err, redislock.ErrUnreplicated) {
		return false, nil
	}
	m.lease = lease
	return err == nil, err
}

func (m *lockerMutex) Unlock(ctx context.Context) error {
	if m.lease == nil { // TryLock was refused: there is nothing to release
		return nil
	}
	if err := m.lease.Release(ctx); !errors.Is(err, lock.ErrLost) {
		return err
	}
	return nil
}

func (m *lockerMutex) Fence() uint64 { return m.lease.Fence() }

// acquireMutex adapts lock.Client to mutex. The context of the lock acquired
// last, if any, is the parent of the next TryLock, which makes it a re-entry.
type acquireMutex struct {
	driven
	client  *lock.Client
	key     string
	options lock.Options
	held    []*lock.Lock
}

func (m *acquireMutex) TryLock(ctx context.Context, ttl time.Duration) (bool, error) {
	if err := m.open(ctx, ttl); err != nil {
		return false, err
	}
	if m.client == nil {
		m.client = lock.New(m.locker)
	}
	if n := len(m.held); n > 0 {
		ctx = m.held[n-1].Context()
	}
	m.options.TTL = ttl
	acquired, err := m.client.Acquire(ctx, m.key, m.options)
	if errors.Is(err, lock.ErrLocked) || errors.Is(err, lock.ErrLost) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	m.held = append(m.held, acquired)
	return true, nil
}

func (m *acquireMutex) Unlock(ctx context.Context) error {
	last := len(m.held) - 1
	innermost := m.held[last]
	m.held = m.held[:last]
	if err := innermost.Release(ctx); !errors.Is(err, lock.ErrLost) {
		return err
	}
	return nil
}

// Err returns nil while the client knows of no loss.
func (m *acquireMutex) Err() error { return m.held[len(m.held)-1].Err() }

// Deadline returns the end of the lease as the holder computes it.
func (m *acquireMutex) Deadline() time.Time { return m.held[len(m.held)-1].Deadline() }
