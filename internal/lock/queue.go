package lock

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Queues let one goroutine of this process at a time contend for a key; the
// others stand behind it, in the order of their coming, and cost the server
// nothing.
type queues struct {
	mu     sync.Mutex
	byName map[name]*queue
}

type name struct {
	locker Locker
	key    string
}

// A queue exists as long as somebody stands in it.
type queue struct {
	turns list.List     // of chan struct{}, closed when it is that one's turn
	wake  chan struct{} // a hint that the key may be free
	stop  func()        // nil unless it listens; the contender's own
}

const (
	// backup is how often a contender asks that hears of no release: the
	// holder may have died, or the hint been lost.
	backup = time.Second
	// Without hints it asks after pauses that grow from first to last.
	firstPause = 2 * time.Millisecond
	lastPause  = 200 * time.Millisecond
)

var errWaited = errors.New("the time to wait is over")

// wait takes the lease within the limits of its options.
func (h *hold) wait(ctx context.Context) error {
	h.o.observe(Event{Kind: EventWaiting})
	defer h.o.observe(Event{Kind: EventWaited})
	limited := ctx
	if h.o.Wait > 0 {
		var cancel context.CancelFunc
		limited, cancel = context.WithTimeoutCause(ctx, h.o.Wait, errWaited)
		defer cancel()
	}
	q := &h.policy.queues
	at, place, first := q.enter(h)
	defer q.leave(h, at, place)
	select {
	case <-place.Value.(chan struct{}):
	case <-limited.Done():
		return gaveUp(limited, h)
	}
	if w, ok := h.locker.(BlockingLocker); ok {
		return h.lock(limited, w)
	}
	return at.contend(ctx, limited, h, first)
}

// enter stands h in its queue, and reports whether it is alone there.
func (q *queues) enter(h *hold) (at *queue, place *list.Element, first bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.byName == nil {
		q.byName = map[name]*queue{}
	}
	at = q.byName[h.name()]
	if at == nil {
		at = &queue{wake: make(chan struct{}, 1)}
		q.byName[h.name()] = at
	}
	turn := make(chan struct{})
	place = at.turns.PushBack(turn)
	if first = at.turns.Len() == 1; first {
		close(turn)
	}
	return at, place, first
}

// leave takes h out of its queue and gives the next one its turn; the last one
// stops listening.
func (q *queues) leave(h *hold, at *queue, place *list.Element) {
	q.mu.Lock()
	contended := at.turns.Front() == place
	at.turns.Remove(place)
	next := at.turns.Front()
	if next == nil {
		delete(q.byName, h.name())
	} else if contended {
		close(next.Value.(chan struct{}))
	}
	q.mu.Unlock()
	if next == nil && at.stop != nil {
		at.stop()
	}
}

// released wakes the next one in this process where the service wakes nobody.
func (q *queues) released(h *hold) {
	if _, ok := h.locker.(Notifier); ok {
		return // to ask twice would be one call too many
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if at := q.byName[h.name()]; at != nil {
		nudge(at.wake)
	}
}

// contend asks whenever the key may have become free. A contender who follows
// another one waits for a hint first, for it knows that the key is held.
func (at *queue) contend(ctx, limited context.Context, h *hold, ask bool) error {
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		if ask {
			if err := h.try(ctx); !errors.Is(err, ErrLocked) {
				if err != nil {
					nudge(at.wake) // the next one has to ask for itself
				}
				return err
			}
		}
		ask = true
		if at.listen(h) {
			pause = backup
		}
		if err := at.rest(limited, h, beforeEnd(limited, jitter(pause))); err != nil {
			return err
		}
	}
}

// listen makes sure that the driver's hints arrive, and reports whether it has
// any.
func (at *queue) listen(h *hold) bool {
	if at.stop != nil {
		return true
	}
	n, ok := h.locker.(Notifier)
	if !ok {
		return false
	}
	stop, err := n.Notify(h.key, at.wake)
	if err != nil {
		return false
	}
	at.stop = stop
	return true
}

// rest waits for a hint, for at most the time of a pause.
func (at *queue) rest(ctx context.Context, h *hold, pause time.Duration) error {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-at.wake:
		return nil
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return gaveUp(ctx, h)
	}
}

// lastAsk is how long before the end of a wait the contender asks for the last
// time: a holder's lease may have run out since, and nobody tells of that.
const lastAsk = 10 * time.Millisecond

// beforeEnd shortens a pause that would outlast the wait.
func beforeEnd(ctx context.Context, pause time.Duration) time.Duration {
	if end, ok := ctx.Deadline(); ok {
		if left := time.Until(end) - lastAsk; left > lastAsk {
			return min(pause, left)
		}
	}
	return pause
}

func gaveUp(ctx context.Context, h *hold) error {
	return fmt.Errorf("lock %s: %w: %w", h.key, ErrLocked, context.Cause(ctx))
}

func (h *hold) name() name { return name{h.locker, h.key} }

// lock waits in the service. When that took long, nobody knows when the lease
// began; so it is begun anew.
func (h *hold) lock(ctx context.Context, w BlockingLocker) (err error) {
	h.asked = time.Now()
	if h.lease, err = w.Lock(ctx, h.key, h.o.TTL); err != nil {
		return fmt.Errorf("lock %s: %w", h.key, err)
	}
	if time.Since(h.asked) < h.o.TTL/10 {
		return nil
	}
	h.asked = time.Now()
	if err := h.lease.Extend(ctx, h.o.TTL); err != nil {
		return fmt.Errorf("lock %s: %w", h.key, errors.Join(err, h.letGo(ctx)))
	}
	return nil
}
