package driver

import (
	"sync"
	"time"

	"example.com/flashsale/internal/lock"
)

// An Expiry is what a client knows of the end of its own lease, where the server
// ends leases by expiry. It tells a lease that was released by a request whose
// reply was lost from a lease that was lost. It is safe for concurrent use.
type Expiry struct {
	mu    sync.Mutex
	until time.Time // the server cannot have expired the lease before
	ended bool      // released, or known to be lost
}

// Begin records a lease that ends at the earliest at end.
func (e *Expiry) Begin(end time.Time) { e.until = end }

// Ended reports whether the lease was released or is known to be lost.
func (e *Expiry) Ended() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.ended
}

// End records that the lease has ended.
func (e *Expiry) End() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.ended = true
}

// Extending records that a request is about to move the end of the lease to end.
// Until Extended, the earlier of the two ends counts.
func (e *Expiry) Extending(end time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if end.Before(e.until) {
		e.until = end
	}
}

// Extended records the reply to the request: whether the server extended the
// lease to end. It returns the result of the extension.
func (e *Expiry) Extended(ok bool, end time.Time) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !ok || e.ended {
		e.ended = true
		return lock.ErrLost
	}
	e.until = end
	return nil
}

// Release ends the lease by remove, which reports whether it found the lease on
// the server, and whether its request was sent more than once. A repeated
// request that finds nothing before the lease can have expired means that an
// earlier request has released it.
func (e *Expiry) Release(remove func() (found, repeated bool, err error)) error {
	if e.Ended() {
		return lock.ErrLost
	}
	found, repeated, err := remove()
	if err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.ended {
		return lock.ErrLost // another Release was faster
	}
	e.ended = true
	if found || repeated && time.Now().Before(e.until) {
		return nil
	}
	return lock.ErrLost
}
