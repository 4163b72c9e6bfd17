package generations

import (
	"context"
	"errors"
	"time"

	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/lock/drivers"
	"example.com/flashsale/internal/lock/redislock"
)

// clientMutex is a lock.Client over a driver of package drivers. It opens the driver at its
// first TryLock, because newMutex cannot return an error. The context of the lock acquired
// last, if any, is the parent of the next TryLock, which makes it a re-entry.
type clientMutex struct {
	p       *process
	driver  string
	options lock.Options
	client  *lock.Client
	held    []*lock.Lock
}

func (m *clientMutex) open(ctx context.Context, ttl time.Duration) error {
	if m.client != nil {
		return nil
	}
	opened, err := drivers.Open(ctx, m.driver,
		drivers.Servers{Redis: m.p.nodes, ZooKeeper: []string{m.p.zookeeper}, Session: ttl})
	if err == nil {
		m.client, m.p.sessions = lock.New(opened.Locker), append(m.p.sessions, opened.Close)
	}
	return err
}

func (m *clientMutex) TryLock(ctx context.Context, ttl time.Duration) (bool, error) {
	if err := m.open(ctx, ttl); err != nil {
		return false, err
	}
	if len(m.held) > 0 {
		ctx = m.last().Context()
	}
	m.options.TTL = ttl
	acquired, err := m.client.Acquire(ctx, m.p.key, m.options)
	switch {
	case err == nil:
		m.held = append(m.held, acquired)
		return true, nil
	case errors.Is(err, lock.ErrLocked), errors.Is(err, lock.ErrLost), errors.Is(err, redislock.ErrUnreplicated):
		return false, nil
	}
	return false, err
}

func (m *clientMutex) Unlock(ctx context.Context) error {
	if len(m.held) == 0 { // TryLock was refused: there is nothing to release
		return nil
	}
	innermost := m.last()
	m.held = m.held[:len(m.held)-1]
	if err := innermost.Release(ctx); !errors.Is(err, lock.ErrLost) {
		return err
	}
	return nil
}

// last returns the lock acquired last, which says what its holder knows.
func (m *clientMutex) last() *lock.Lock { return m.held[len(m.held)-1] }
