package lock

import (
	"container/list"
	"sync"
	"sync/atomic"
	"time"
)

// queues let one goroutine of this process at a time contend for a key. The
// others wait behind it, in the order of arrival, without requests to the
// server.
type queues struct {
	mu    sync.Mutex
	byKey map[string]*queue
}

// A queue exists while at least one waiter is in it.
type queue struct {
	waiters list.List     // of chan struct{}; closed when the waiter comes first
	wake    chan struct{} // receives when the key may be free
	listens atomic.Bool   // the driver sends notifications on wake

	// The first waiter uses these.
	stop  func()    // stops the notifications; nil before they are started
	endAt time.Time // of the holder's lease, as far as the server has told; zero if it has not

	mu      sync.Mutex
	outcome error // of the latest request: ErrLocked, also after a grant, or unknown; nil before it
}

// join appends a waiter to the queue of key, and reports whether it is the
// first.
func (qs *queues) join(key string) (q *queue, place *list.Element, first bool) {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	if qs.byKey == nil {
		qs.byKey = map[string]*queue{}
	}
	q = qs.byKey[key]
	if q == nil {
		q = &queue{wake: make(chan struct{}, 1)}
		qs.byKey[key] = q
	}
	turn := make(chan struct{})
	place = q.waiters.PushBack(turn)
	if first = q.waiters.Len() == 1; first {
		close(turn)
	}
	return q, place, first
}

// leave removes a waiter and lets the next one contend. The last waiter stops
// the notifications.
func (qs *queues) leave(key string, q *queue, place *list.Element) {
	qs.mu.Lock()
	contended := q.waiters.Front() == place
	q.waiters.Remove(place)
	next := q.waiters.Front()
	if next == nil {
		delete(qs.byKey, key)
	} else if contended {
		close(next.Value.(chan struct{}))
	}
	qs.mu.Unlock()
	if next == nil && q.stop != nil {
		q.stop()
	}
}

// record stores the outcome of a request.
func (q *queue) record(outcome error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.outcome = outcome
}

// lastOutcome returns the outcome of the latest request, or errNoReply.
func (q *queue) lastOutcome() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.outcome == nil {
		return errNoReply
	}
	return q.outcome
}

// wakeNext wakes this process's next waiter after a release, unless it listens to
// notifications: a second request would be superfluous then.
func (qs *queues) wakeNext(g *grant) {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	if q := qs.byKey[g.key]; q != nil && !q.listens.Load() {
		notify(q.wake)
	}
}

// notify sends on wake without blocking. One pending notification is enough.
func notify(wake chan<- struct{}) {
	select {
	case wake <- struct{}{}:
	default:
	}
}
