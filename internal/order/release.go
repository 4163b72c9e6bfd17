package order

import (
	"context"
	"sync"

	"go.opentelemetry.io/otel/trace"

	"example.com/flashsale/internal/lock"
)

// releaser releases locks in the background. A committed order stays committed
// whatever becomes of its lock, and a lease that cannot be released expires, so
// the reply need not wait for it.
type releaser struct {
	mu      sync.Mutex
	closed  bool
	running sync.WaitGroup
}

// release starts the release of l, which ends the lock's span, and closes
// released when it has ended. After close it releases before it returns.
func (r *releaser) release(l *lock.Lock, span trace.Span) (released <-chan struct{}) {
	done := make(chan struct{})
	release := func() {
		defer close(done)
		_ = l.Release(trace.ContextWithSpan(context.Background(), span)) // the client's observer reports it
		span.End()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		release()
	} else {
		r.running.Go(release)
	}
	return done
}

// close returns when all releases have ended.
func (r *releaser) close() {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.running.Wait()
}
