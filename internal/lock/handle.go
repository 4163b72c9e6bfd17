package lock

import (
	"context"
	"errors"
	"sync"
	"time"
)

// ErrReleased reports that a lock is no longer held because its holder released
// it.
var ErrReleased = errors.New("lock: released")

// A Lock is a lock that this process holds, until Release or its loss. It is
// safe for concurrent use.
type Lock struct {
	grant   *grant
	parent  context.Context // of Acquire
	carried *grantChain     // by parent

	mu       sync.Mutex
	ctx      context.Context // nil until Context is called
	cancel   context.CancelCauseFunc
	released bool

	releasing sync.Mutex // held until result is known
	result    error      // of Release
}

// Fence returns the fence of the lease, or zero if the driver has none. Locks
// that share a lease by re-entry share the fence.
func (l *Lock) Fence() uint64 { return l.grant.lease.Fence() }

// Key returns the key of the lock.
func (l *Lock) Key() string { return l.grant.key }

// Deadline returns the time until which the lock is certainly held if it is not
// extended. It is counted from before the request was sent, by this process's
// monotonic clock, less a margin for clock drift.
func (l *Lock) Deadline() time.Time {
	l.grant.mu.Lock()
	defer l.grant.mu.Unlock()
	return l.grant.deadline
}

// Done returns a channel that is closed when the lock is lost, or when all who
// share it have released it.
func (l *Lock) Done() <-chan struct{} { return l.grant.doneChannel() }

// Err returns nil while the lock is held, ErrReleased after Release, ErrClosed
// after the client's Close, and ErrLost, wrapped with the reason, after a loss.
//
// Err compares the clock with the deadline, so that a process which was stopped
// or suspended learns of its loss from the first call, before Done is closed or
// the context is cancelled by a timer. Call Err before each write. Between the
// call and the write the process may be stopped again: only a fence that the
// resource checks covers that.
func (l *Lock) Err() error {
	if err := l.grant.check(); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.released {
		return ErrReleased
	}
	return nil
}

// Context returns the context of Acquire, which also carries the lock for
// re-entry. It is cancelled when the lock ends, with the cause that Err
// returns.
func (l *Lock) Context() context.Context {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ctx == nil {
		l.ctx, l.cancel = context.WithCancelCause(
			context.WithValue(l.parent, grantChainKey{}, &grantChain{l.grant, l.carried}))
		if l.released {
			l.cancel(ErrReleased)
		} else {
			l.grant.cancelAtEnd(l)
		}
	}
	return l.ctx
}

// Release releases the lock. It returns ErrLost, with the reason, if the lock
// was lost before, and another error if the outcome is unknown: the lock then
// ends with its lease at the latest. Cancelling ctx does not stop the release. Every further
// call returns the result of the first.
func (l *Lock) Release(ctx context.Context) error {
	l.releasing.Lock()
	defer l.releasing.Unlock()
	switch {
	case !l.markReleased():
	case l.grant.leave():
		l.endRelease(l.grant.released(l.grant.releaseLease(ctx)))
	default: // others share the lease, or Close releases it
		l.endRelease(l.grant.ended())
	}
	return l.result
}

// markReleased reports whether it is the first call.
func (l *Lock) markReleased() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	first := !l.released
	l.released = true
	return first
}

func (l *Lock) endRelease(result error) {
	l.result = result
	l.mu.Lock()
	cancel := l.cancel
	l.mu.Unlock()
	if cancel != nil {
		cancel(ErrReleased)
		l.grant.forgetContext(l)
	}
}
