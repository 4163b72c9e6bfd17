package lock

import (
	"container/heap"
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"
)

// A watchdog renews the leases of one process and ends the holds whose time
// has run out. It is one heap and one timer, and no goroutine while nothing is
// due; each batch that is due has one of its own, so that a server that does
// not answer delays nobody else's.
type watchdog struct {
	mu    sync.Mutex
	holds agenda
	timer *time.Timer
	armed time.Time // when timer fires; zero if it does not
}

// A schedule is what the watchdog knows of a hold.
type schedule struct {
	deadline time.Time // until when the hold is certain
	last     time.Time // when MaxHold ends it; zero if nothing does
	due      time.Time // of the next renewal, or the deadline
	renews   bool      // which of the two it is
	place    int       // in the agenda, -1 when out of it
}

// batch is how many leases one call extends.
const batch = 100

// certain is how long after asking a lease of ttl is ours without a doubt:
// redlock's allowance for clocks that run at different speeds, and for
// expiries that are counted in whole milliseconds.
func certain(ttl time.Duration) time.Duration {
	return ttl - ttl/100 - min(2*time.Millisecond, ttl/10)
}

func (w *watchdog) add(h *hold) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if h.o.MaxHold > 0 {
		h.last = h.asked.Add(h.o.MaxHold)
	}
	h.extended(h.asked)
	heap.Push(&w.holds, h)
	w.arm()
}

func (w *watchdog) remove(h *hold) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if h.place >= 0 {
		heap.Remove(&w.holds, h.place)
	}
}

func (w *watchdog) deadlineOf(h *hold) time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return h.deadline
}

// extended notes a lease of full length, asked for at the time asked.
func (h *hold) extended(asked time.Time) {
	h.deadline = asked.Add(certain(h.o.TTL))
	if !h.last.IsZero() && h.last.Before(h.deadline) {
		h.deadline = h.last
	}
	h.renewAt(asked.Add(h.o.TTL / 3))
}

// renewAt makes the hold due at that time, or at its deadline if there is
// nothing to renew before it.
func (h *hold) renewAt(at time.Time) {
	h.renews = !h.o.NoRenewal && at.Before(h.deadline)
	h.due = h.deadline
	if h.renews {
		h.due = at
	}
}

// arm sets the timer for the first hold of the agenda. One that is set for an
// earlier time stays: it will find nothing due and arm itself again.
func (w *watchdog) arm() {
	if len(w.holds) == 0 {
		return
	}
	due := w.holds[0].due
	if !w.armed.IsZero() && !due.Before(w.armed) {
		return
	}
	w.armed = due
	if w.timer == nil {
		w.timer = time.AfterFunc(time.Until(due), w.wake)
	} else {
		w.timer.Reset(time.Until(due))
	}
}

// wake deals with all that is due.
func (w *watchdog) wake() {
	w.mu.Lock()
	w.armed = time.Time{}
	late, due := w.collect(time.Now())
	w.arm()
	w.mu.Unlock()
	for _, h := range late {
		h.lose("not extended in time")
	}
	for group, holds := range due {
		group.renew(w, holds)
	}
}

// A group is renewed in one call.
type group struct {
	locker Locker
	ttl    time.Duration
}

// collect takes the holds out whose time is over, and groups those that are to
// be renewed now. So that leases of different age come to be renewed together,
// a renewal may come early, by a sixth of the ttl.
func (w *watchdog) collect(now time.Time) (late []*hold, due map[group][]*hold) {
	due = map[group][]*hold{}
	for len(w.holds) > 0 {
		h := w.holds[0]
		switch {
		case !h.deadline.After(now):
			heap.Remove(&w.holds, 0)
			late = append(late, h)
		case h.renews && !h.due.After(now.Add(h.o.TTL/6)):
			h.renewAt(h.deadline) // no other one while this is under way
			heap.Fix(&w.holds, 0)
			g := group{h.locker, h.o.TTL}
			due[g] = append(due[g], h)
		default:
			return late, due
		}
	}
	return late, due
}

// renew extends holds in batches, and returns at once.
func (g group) renew(w *watchdog, holds []*hold) {
	size := 1
	if _, ok := g.locker.(BatchExtender); ok {
		size = batch
	}
	for len(holds) > 0 {
		n := min(size, len(holds))
		go g.renewBatch(w, holds[:n:n])
		holds = holds[n:]
	}
}

// renewBatch gives the server a fifth of the ttl to answer, so that there is
// time for a second and a third attempt.
func (g group) renewBatch(w *watchdog, holds []*hold) {
	ctx, cancel := context.WithTimeout(context.Background(), g.ttl/5)
	defer cancel()
	asked := time.Now()
	errs := g.extend(ctx, holds)
	for i, h := range holds {
		w.renewed(h, asked, errs[i])
	}
}

func (g group) extend(ctx context.Context, holds []*hold) []error {
	l, ok := g.locker.(BatchExtender)
	if !ok {
		return []error{holds[0].lease.Extend(ctx, g.ttl)}
	}
	leases := make([]Lease, len(holds))
	for i, h := range holds {
		leases[i] = h.lease
	}
	return l.ExtendAll(ctx, g.ttl, leases)
}

// renewed takes the answer to a renewal, unless the hold has ended meanwhile.
func (w *watchdog) renewed(h *hold, asked time.Time, err error) {
	w.mu.Lock()
	if h.place < 0 {
		w.mu.Unlock()
		return
	}
	switch {
	case err == nil:
		h.extended(asked)
		heap.Fix(&w.holds, h.place)
	case errors.Is(err, ErrLost):
		heap.Remove(&w.holds, h.place)
	default:
		h.renewAt(time.Now().Add(jitter(h.o.TTL / 20)))
		heap.Fix(&w.holds, h.place)
	}
	w.arm()
	w.mu.Unlock()
	h.tellRenewal(err)
}

func (h *hold) tellRenewal(err error) {
	switch {
	case err == nil:
		h.o.observe(Event{Kind: EventRenewed})
	case errors.Is(err, ErrLost):
		h.lose("taken away")
	default:
		h.o.observe(Event{Kind: EventRenewalUnknown, Err: err})
	}
}

// jitter is a random time between half of d and one and a half.
func jitter(d time.Duration) time.Duration { return d/2 + rand.N(d+1) }

// An agenda is a heap of holds, the next one due first.
type agenda []*hold

func (a agenda) Len() int           { return len(a) }
func (a agenda) Less(i, j int) bool { return a[i].due.Before(a[j].due) }

func (a agenda) Swap(i, j int) {
	a[i], a[j] = a[j], a[i]
	a[i].place, a[j].place = i, j
}

// Push implements heap.Interface.
func (a *agenda) Push(x any) {
	h := x.(*hold)
	h.place = len(*a)
	*a = append(*a, h)
}

// Pop implements heap.Interface.
func (a *agenda) Pop() any {
	last := len(*a) - 1
	h := (*a)[last]
	(*a)[last] = nil
	*a = (*a)[:last]
	h.place = -1
	return h
}
