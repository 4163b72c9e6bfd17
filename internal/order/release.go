package order

import (
	"sync"

	"go.opentelemetry.io/otel/trace"

	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/tracing"
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
// released when it has ended.
// After close it releases before it returns.
func (r *releaser) release(l *lock.Lock, span trace.Span) (released <-chan struct{}) {
	done := make(chan struct{})
	run := func() {
		_ = l.Release(tracing.Context(span))
		span.End()
		close(done)
	}
	r.mu.Lock()
	closed := r.closed
	if !closed {
		r.running.Go(run)
	}
	r.mu.Unlock()
	if closed {
		run()
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
