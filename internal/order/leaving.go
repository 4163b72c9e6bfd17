package order

import (
	"context"
	"sync"

	"example.com/flashsale/internal/lock"
)

// leaving is the locks that are being let go of. An order's answer does not
// wait for that: what the transaction did stands, whatever becomes of the lock,
// and a lease that cannot be let go of ends by itself.
type leaving struct {
	mu     sync.Mutex
	closed bool
	all    sync.WaitGroup
}

// letGo lets the user's next claim in, and closes left then. After close it is
// done when letGo returns.
func (l *leaving) letGo(held *lock.Held) (left <-chan struct{}) {
	done := make(chan struct{})
	release := func() {
		_ = held.Release(context.Background())
		close(done)
	}
	l.mu.Lock()
	closed := l.closed
	if !closed {
		l.all.Go(release)
	}
	l.mu.Unlock()
	if closed {
		release()
	}
	return done
}

// close returns when no lock is left.
func (l *leaving) close() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.all.Wait()
}
