package lock

import (
	"container/heap"
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"
)

// A watchdog renews the leases of one client and ends the grants that were not
// extended in time. It is one heap and one timer. Each renewal has a goroutine of its
// own, so that a slow reply delays no other.
type watchdog struct {
	mu      sync.Mutex
	grants  renewalHeap
	timer   *time.Timer
	firesAt time.Time // of the timer; zero if it is not set
	closed  bool
}

// notExtended is the reason of a loss.
const notExtended = "not extended in time"

// safeTTL is how long after the request a lease of ttl is certainly held. The
// margin is Redlock's: for clocks that run at different speeds, and for
// expiries that are counted in whole milliseconds.
func safeTTL(ttl time.Duration) time.Duration {
	return ttl - ttl/100 - min(2*time.Millisecond, ttl/10)
}

// add begins to watch g, or returns ErrClosed.
func (w *watchdog) add(g *grant) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return ErrClosed
	}
	g.start = time.Now()
	g.extendedAt(g.requestedAt, g.options)
	heap.Push(&w.grants, g)
	w.setTimer()
	return nil
}

func (w *watchdog) remove(g *grant) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.removeLocked(g)
}

func (w *watchdog) removeLocked(g *grant) {
	if g.index >= 0 {
		heap.Remove(&w.grants, g.index)
	}
}

// removeLate removes g if its deadline is over, and reports that.
func (w *watchdog) removeLate(g *grant) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	late := g.late(now())
	if late {
		w.removeLocked(g)
	}
	return late
}

func (w *watchdog) deadlineOf(g *grant) time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return g.deadline
}

// close releases all grants and refuses new ones.
func (w *watchdog) close() {
	w.mu.Lock()
	w.closed = true
	grants := make([]*grant, 0, len(w.grants))
	for len(w.grants) > 0 {
		grants = append(grants, heap.Pop(&w.grants).(*grant))
	}
	w.mu.Unlock()
	var releases sync.WaitGroup
	for _, g := range grants {
		releases.Go(func() {
			if g.endFor(ErrClosed) {
				_ = g.released(g.releaseLease(context.Background()))
			}
		})
	}
	releases.Wait()
}

// setTimer sets the timer for the first grant. A timer that is set for an
// earlier time stays: wake will find nothing due and set it again.
func (w *watchdog) setTimer() {
	if len(w.grants) == 0 {
		return
	}
	due := w.grants[0].due
	if !w.firesAt.IsZero() && !due.Before(w.firesAt) {
		return
	}
	w.firesAt = due
	if w.timer == nil {
		w.timer = time.AfterFunc(time.Until(due), w.wake)
	} else {
		w.timer.Reset(time.Until(due))
	}
}

// wake ends the grants that are late and renews those that are due.
func (w *watchdog) wake() {
	w.mu.Lock()
	w.firesAt = time.Time{}
	late, due := w.collect(time.Now())
	w.setTimer()
	w.mu.Unlock()
	for _, g := range late {
		g.lose(notExtended)
	}
	for _, g := range due {
		go w.renew(g)
	}
}

// collect removes the grants whose deadline is over, and returns those that are to be
// renewed now.
func (w *watchdog) collect(now time.Time) (late, due []*grant) {
	for len(w.grants) > 0 {
		switch g := w.grants[0]; {
		case !g.deadline.After(now):
			heap.Remove(&w.grants, 0)
			late = append(late, g)
		case g.renews && !g.due.After(now):
			g.renewAt(g.deadline, g.options) // no other renewal before the result of this one
			heap.Fix(&w.grants, 0)
			due = append(due, g)
		default:
			return late, due
		}
	}
	return late, due
}

// renew gives the server a fifth of the ttl to reply, which leaves time for a second
// and a third attempt.
func (w *watchdog) renew(g *grant) {
	ttl := g.options.TTL
	ctx, cancel := context.WithTimeout(context.Background(), ttl/5)
	defer cancel()
	requestedAt := now()
	w.renewed(g, requestedAt, g.lease.Extend(ctx, ttl))
}

// renewed records the result of a renewal, unless the grant has ended
// meanwhile.
func (w *watchdog) renewed(g *grant, requestedAt instant, err error) {
	w.mu.Lock()
	if g.index < 0 {
		w.mu.Unlock()
		return
	}
	late := g.deadline != g.last && time.Until(g.deadline) < g.options.TTL/3
	switch {
	case err == nil:
		g.extendedAt(requestedAt, g.options)
		heap.Fix(&w.grants, g.index)
	case errors.Is(err, ErrLost):
		heap.Remove(&w.grants, g.index)
	default:
		g.renewAt(time.Now().Add(jitter(g.options.TTL/20)), g.options)
		heap.Fix(&w.grants, g.index)
	}
	w.setTimer()
	w.mu.Unlock()
	g.reportRenewal(late, err)
}

func (g *grant) reportRenewal(late bool, err error) {
	switch {
	case err == nil && late:
		g.report(Event{Kind: EventRenewedLate})
	case err == nil:
		g.report(Event{Kind: EventRenewed})
	case errors.Is(err, ErrLost):
		g.lose("the server has ended it or given it to another")
	default:
		g.report(Event{Kind: EventRenewalUnknown, Err: err})
	}
}

// jitter returns a random duration between half of d and one and a half.
func jitter(d time.Duration) time.Duration { return d/2 + rand.N(d+1) }
