package lock

import (
	"context"
	"sync"
	"time"
)

// Local locks within this process and nowhere else, as a language's own mutex
// does: two instances of a service exclude nobody from each other. It is the
// contract at its plainest, with fences and wake-ups.
func Local() Locker {
	return &local{leases: map[string]*localLease{}, waiters: map[string]map[chan<- struct{}]int{}}
}

type local struct {
	mu      sync.Mutex
	leases  map[string]*localLease // the holders
	waiters map[string]map[chan<- struct{}]int
	fence   uint64 // the last one given, to any key
}

type localLease struct {
	locker *local
	key    string
	fence  uint64
	expiry *time.Timer
}

func (l *local) TryLock(ctx context.Context, key string, ttl time.Duration) (Lease, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := CheckTTL(ttl); err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.leases[key] != nil {
		return nil, ErrLocked
	}
	l.fence++
	lease := &localLease{locker: l, key: key, fence: l.fence}
	lease.expiry = time.AfterFunc(ttl, func() { _ = lease.end() })
	l.leases[key] = lease
	return lease, nil
}

func (l *localLease) Fence() uint64 { return l.fence }

func (l *localLease) Extend(_ context.Context, ttl time.Duration) error {
	if err := CheckTTL(ttl); err != nil {
		return err
	}
	l.locker.mu.Lock()
	defer l.locker.mu.Unlock()
	if l.locker.leases[l.key] != l || !l.expiry.Reset(ttl) {
		return ErrLost
	}
	return nil
}

func (l *localLease) Release(context.Context) error {
	l.expiry.Stop()
	return l.end()
}

// end takes the lease out of the table, unless it is out, and wakes those who
// wait for it.
func (l *localLease) end() error {
	l.locker.mu.Lock()
	defer l.locker.mu.Unlock()
	if l.locker.leases[l.key] != l {
		return ErrLost
	}
	delete(l.locker.leases, l.key)
	for wake := range l.locker.waiters[l.key] {
		nudge(wake)
	}
	return nil
}

// Notify tells of every release and expiry.
func (l *local) Notify(key string, wake chan<- struct{}) (stop func(), err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.waiters[key] == nil {
		l.waiters[key] = map[chan<- struct{}]int{}
	}
	l.waiters[key][wake]++
	nudge(wake)
	return sync.OnceFunc(func() { l.forget(key, wake) }), nil
}

func (l *local) forget(key string, wake chan<- struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.waiters[key][wake]--; l.waiters[key][wake] == 0 {
		delete(l.waiters[key], wake)
	}
	if len(l.waiters[key]) == 0 {
		delete(l.waiters, key)
	}
}

// nudge leaves a wake-up that one receiver will find, without ever blocking.
func nudge(wake chan<- struct{}) {
	select {
	case wake <- struct{}{}:
	default:
	}
}
