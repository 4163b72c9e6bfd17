package lock

import (
	"context"
	"sync"
	"time"
)

// Local returns a locker that excludes within this process only, as a mutex
// does. Two instances of a service do not exclude each other with it. Its leases
// expire and have fences, and it is a Notifier.
func Local() Locker {
	return &local{leases: map[string]*localLease{}, waiters: map[string]map[chan<- struct{}]int{}}
}

type local struct {
	mu      sync.Mutex
	leases  map[string]*localLease             // by key
	waiters map[string]map[chan<- struct{}]int // by key; how often each channel listens
	fence   uint64                             // of the latest lease of any key
}

type localLease struct {
	locker *local
	key    string
	fence  uint64
	expiry *time.Timer
	endsAt time.Time // unless it is extended or released
}

func (l *local) TryLock(ctx context.Context, key string, ttl time.Duration) (Lease, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if holder := l.leases[key]; holder != nil {
		return nil, Locked(time.Until(holder.endsAt))
	}
	l.fence++
	lease := &localLease{locker: l, key: key, fence: l.fence, endsAt: time.Now().Add(ttl)}
	lease.expiry = time.AfterFunc(ttl, func() { _ = lease.end() })
	l.leases[key] = lease
	return lease, nil
}

func (l *localLease) Fence() uint64 { return l.fence }

func (l *localLease) Extend(_ context.Context, ttl time.Duration) error {
	l.locker.mu.Lock()
	defer l.locker.mu.Unlock()
	if l.locker.leases[l.key] != l || !l.expiry.Reset(ttl) {
		return ErrLost
	}
	l.endsAt = time.Now().Add(ttl)
	return nil
}

func (l *localLease) Release(context.Context) error {
	l.expiry.Stop()
	return l.end()
}

// end removes the lease, unless it has ended, and notifies the waiters of its
// key.
func (l *localLease) end() error {
	l.locker.mu.Lock()
	defer l.locker.mu.Unlock()
	if l.locker.leases[l.key] != l {
		return ErrLost
	}
	delete(l.locker.leases, l.key)
	for wake := range l.locker.waiters[l.key] {
		notify(wake)
	}
	return nil
}

// Notify implements Notifier. It reports every release and expiry.
func (l *local) Notify(key string, wake chan<- struct{}) (stop func(), err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.waiters[key] == nil {
		l.waiters[key] = map[chan<- struct{}]int{}
	}
	l.waiters[key][wake]++
	notify(wake)
	return sync.OnceFunc(func() { l.stopNotify(key, wake) }), nil
}

func (l *local) stopNotify(key string, wake chan<- struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.waiters[key][wake]--; l.waiters[key][wake] == 0 {
		delete(l.waiters[key], wake)
	}
	if len(l.waiters[key]) == 0 {
		delete(l.waiters, key)
	}
}
