package generations

import (
	"context"
	"errors"
	"time"

	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/lock/drivers"
	"example.com/flashsale/internal/lock/redislock"
)

// clientMutex is a lock.Client over a driver of package drivers. The context of the lock
// acquired last, if any, is the parent of the next TryLock, which makes it a re-entry.
type clientMutex struct {
	key     string
	options lock.Options
	client  *lock.Client
	opened  error // of the driver
	held    []*lock.Lock
}

// client is a lock.Client over a driver that acquires with o.
func client(driver string, o lock.Options) func(*process) mutex {
	return func(p *process) mutex {
		s := p.scenario
		servers := drivers.Servers{Redis: p.nodes, Session: longLease}
		if s.zookeeper != nil {
			servers.ZooKeeper = []string{s.zookeeper.Address}
		}
		opened, err := drivers.Open(s.ctx, driver, servers)
		if err == nil {
			s.closes = append(s.closes, opened.Close)
		}
		return &clientMutex{key: p.key, options: o, client: lock.New(opened.Locker), opened: err}
	}
}

func (m *clientMutex) TryLock(ctx context.Context, ttl time.Duration) (bool, error) {
	if m.opened != nil {
		return false, m.opened
	}
	if len(m.held) > 0 {
		ctx = m.last().Context()
	}
	m.options.TTL = ttl
	acquired, err := m.client.Acquire(ctx, m.key, m.options)
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
