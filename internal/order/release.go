package order

import (
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"

	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/observe/tracing"
)

// releaser releases locks in the background. A committed order stays committed
// whatever becomes of its lock, and a lease that cannot be released expires, so
// the reply need not wait for it. The claims of a batch finish together: the
// locks that are finished while a release is under way are released together.
type releaser struct {
	locks *lock.Client

	mu       sync.Mutex
	finished []finished // the next batch
	busy     bool       // a goroutine will take the next batch
	closed   bool
	running  sync.WaitGroup
}

// A finished lock is one whose claim has ended.
type finished struct {
	lock     *lock.Lock
	span     trace.Span // ends with the release
	released chan struct{}
}

// overdue is after how long a batch that is not released delays no other: one
// node of several may not reply.
const overdue = 50 * time.Millisecond

// release starts the release of l, which ends the lock's span, and closes
// released when it has ended. After close it releases before it returns.
func (r *releaser) release(l *lock.Lock, span trace.Span) (released <-chan struct{}) {
	f := finished{l, span, make(chan struct{})}
	if !r.add(f) {
		r.releaseAll([]finished{f})
	}
	return f.released
}

// add adds f to the next batch, or returns false after close.
func (r *releaser) add(f finished) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return false
	}
	r.finished = append(r.finished, f)
	if !r.busy {
		r.busy = true
		r.running.Go(r.run)
	}
	return true
}

// run releases batches until no lock is finished. While a batch is overdue, the
// next ones are another goroutine's.
func (r *releaser) run() {
	for batch := r.take(); len(batch) > 0; batch = r.take() {
		r.running.Add(1)
		successor := time.AfterFunc(overdue, func() {
			defer r.running.Done()
			r.run()
		})
		r.releaseAll(batch)
		if !successor.Stop() {
			return
		}
		r.running.Done()
	}
}

// take returns the next batch. If it is empty, the caller's run has ended.
func (r *releaser) take() []finished {
	r.mu.Lock()
	defer r.mu.Unlock()
	batch := r.finished
	r.finished, r.busy = nil, len(batch) > 0
	return batch
}

func (r *releaser) releaseAll(batch []finished) {
	locks := make([]*lock.Lock, len(batch))
	for i, f := range batch {
		locks[i] = f.lock
	}
	r.locks.ReleaseAll(tracing.Context(batch[0].span), locks)
	for _, f := range batch {
		f.span.End()
		close(f.released)
	}
}

// close returns when all releases have ended.
func (r *releaser) close() {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.running.Wait()
}
