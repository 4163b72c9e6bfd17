package lock

import "time"

// A renewal is what the watchdog knows of a grant.
type renewal struct {
	extended instant   // before the request that the server has last granted
	deadline time.Time // until which the lock is certainly held
	last     time.Time // when MaxHold ends it; zero if nothing does
	due      time.Time // of the next renewal, or the deadline
	renews   bool      // due is the time of a renewal, not the deadline
	index    int       // in the heap; -1 when out of it
}

// extendedAt records a lease of full length that was requested at t.
func (r *renewal) extendedAt(t instant, o Options) {
	r.extended = t
	if o.MaxHold > 0 && r.last.IsZero() {
		r.last = t.Add(o.MaxHold)
	}
	r.deadline = t.Add(safeTTL(o.TTL))
	if !r.last.IsZero() && r.last.Before(r.deadline) {
		r.deadline = r.last
	}
	r.renewAt(t.Add(o.TTL/3), o)
}

// late reports whether the deadline is over, also if the time to it has passed
// while the machine was suspended.
func (r *renewal) late(t instant) bool {
	return t.sub(r.extended) >= r.deadline.Sub(r.extended.Time)
}

// renewAt sets the next renewal to t, or none if the deadline comes first.
func (r *renewal) renewAt(t time.Time, o Options) {
	r.renews = !o.NoRenewal && t.Before(r.deadline)
	r.due = r.deadline
	if r.renews {
		r.due = t
	}
}

// A renewalHeap is a heap of grants, the next one due first.
type renewalHeap []*grant

func (h renewalHeap) Len() int           { return len(h) }
func (h renewalHeap) Less(i, j int) bool { return h[i].due.Before(h[j].due) }

func (h renewalHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

// Push implements heap.Interface.
func (h *renewalHeap) Push(x any) {
	g := x.(*grant)
	g.index = len(*h)
	*h = append(*h, g)
}

// Pop implements heap.Interface.
func (h *renewalHeap) Pop() any {
	last := len(*h) - 1
	g := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	g.index = -1
	return g
}
