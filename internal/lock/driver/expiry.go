package driver

import (
	"sync"
	"time"

	"example.com/flashsale/internal/lock"
)

// An Expiry records when a lease can have expired on the server at the earliest.
// It is for servers that end leases by expiry. If a request to release was
// repeated and finds no lease, Expiry decides whether the first request has
// released it (before that time) or the lease was lost (after it). It is safe
// for concurrent use, except for Begin.
type Expiry struct {
	mu       sync.Mutex
	until    time.Time // the server has not expired the lease before
	ended    bool      // released, or known to be lost
	releases int       // under way
}

// Begin records a new lease, which the server does not expire before end.
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

// Extend extends the lease to ttl from now by calling extend, unless it has ended. Extend
// asks the server, and returns whether that has extended the lease. Until then, and if extend
// returns an err, which is returned as it is, the earlier of the two ends counts, because the
// request may or may not have been executed. Otherwise Extend returns nil, or lock.ErrLost. A
// release that is under way may itself have removed the lease, so it is left to say whether
// the lease was lost.
func (e *Expiry) Extend(ttl time.Duration, extend func() (extended bool, err error)) error {
	end := time.Now().Add(ttl)
	if !e.extending(end) {
		return lock.ErrLost
	}
	extended, err := extend()
	if err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if !extended || e.ended {
		e.ended = e.ended || e.releases == 0
		return lock.ErrLost
	}
	e.until = end
	return nil
}

// extending records that a request to extend the lease to end is about to be sent. It returns
// false if the lease has ended: then none needs to be sent.
func (e *Expiry) extending(end time.Time) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if end.Before(e.until) {
		e.until = end
	}
	return !e.ended
}

// Release ends the lease by calling remove, unless it has ended. Remove deletes the
// lease on the server. It returns whether the lease was there, and whether the
// request was sent more than once. If a repeated request has found no lease, and the
// lease cannot have expired yet, an earlier request has released it and Release returns
// nil. If the lease was lost, it returns lock.ErrLost. An err of remove is returned as
// it is and leaves the lease as it was.
func (e *Expiry) Release(remove func() (found, repeated bool, err error)) error {
	if !e.releasing() {
		return lock.ErrLost
	}
	found, repeated, err := remove()
	e.mu.Lock()
	defer e.mu.Unlock()
	e.releases--
	if err != nil {
		return err
	}
	if e.ended {
		return lock.ErrLost // another Release was faster
	}
	e.ended = true
	if found || repeated && time.Now().Before(e.until) {
		return nil
	}
	return lock.ErrLost
}

// releasing records that a request to delete the lease is about to be sent. It returns
// false if the lease has ended: then none needs to be sent.
func (e *Expiry) releasing() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.ended {
		e.releases++
	}
	return !e.ended
}
