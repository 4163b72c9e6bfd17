package admission

import (
	"slices"
	"time"
)

// Limits bound the predicted wait of a request that joins a queue. The zero Limits
// bound nothing.
//
// A request that would be served too late is refused at once. A burst of requests
// that arrive at one moment is served whole if it fits into the time that they
// have. As in CoDel (RFC 8289), a queue may therefore be long for a moment: one
// that stays has to be short, because its requests wait and no more of them are
// served for it.
type Limits struct {
	Burst    time.Duration // in a queue that has formed within the last Patience, when it was idle
	Standing time.Duration // in any other
}

// Patience is how long a queue may exceed the limit of a standing one. It is also
// how long no request must have been refused, for an empty queue to be idle: while
// more requests arrive than can be served, a short queue is often empty.
const Patience = time.Second

const (
	window  = 200 * time.Millisecond
	windows = 5 // of which the one with the highest rate counts
	known   = 2 // windows, until the rate is known: while many clients connect, few requests are served
)

// A Forecast predicts the waits in one queue from the rate at which requests have
// left it. The rate is the highest of the last windows, as in BBR: requests leave
// in batches, and a queue that has just formed is served slowly at first. Its zero
// value is the forecast of an empty queue. It is not safe for concurrent use.
type Forecast struct {
	formed  time.Time // when the queue was last idle
	refused time.Time // when a request was last refused
	begin   time.Time // of the current window
	left    int       // requests, in the current window
	counts  [windows]int
	closed  int // windows in which the rate has been counted
}

// Join reports whether one more request may join behind waiting others, within
// limits and before deadline, if it is not zero.
func (f *Forecast) Join(now time.Time, waiting int, limits Limits, deadline time.Time) bool {
	if waiting == 0 {
		f.form(now)
		return true
	}
	if limits == (Limits{}) {
		return true
	}
	wait, ok := f.Wait(now, waiting)
	if !ok {
		return true
	}
	limit := limits.Standing
	if now.Sub(f.formed) < Patience {
		limit = limits.Burst
	}
	joins := wait <= limit && (deadline.IsZero() || wait <= deadline.Sub(now))
	if !joins {
		f.refused = now
	}
	return joins
}

// Refuses reports whether a request has been refused within the last Patience.
func (f *Forecast) Refuses(now time.Time) bool { return now.Sub(f.refused) < Patience }

// form begins the forecast of a queue that is empty. If it is not idle, its rate is
// known.
func (f *Forecast) form(now time.Time) {
	rate := f.rate(now)
	if rate == 0 || !f.Refuses(now) {
		*f = Forecast{formed: now, begin: now}
		return
	}
	*f = Forecast{formed: f.formed, refused: f.refused, begin: now, counts: [windows]int{rate}, closed: known}
}

// Leave counts a request that left the queue because it is served.
func (f *Forecast) Leave(now time.Time) {
	f.roll(now)
	f.left++
}

// never is the wait in a queue that nothing leaves.
const never = 1 << 62

// Wait predicts the wait behind waiting others. It is false until requests have
// left the queue, or should have.
func (f *Forecast) Wait(now time.Time, waiting int) (wait time.Duration, ok bool) {
	rate := f.rate(now)
	if f.closed < known {
		return 0, false
	}
	if rate == 0 {
		return never, f.closed >= windows
	}
	return time.Duration(float64(waiting) / float64(rate) * float64(window)), true
}

// rate returns how many requests have left the queue in a window.
func (f *Forecast) rate(now time.Time) int {
	f.roll(now)
	return slices.Max(f.counts[:])
}

// roll closes the windows that have ended.
func (f *Forecast) roll(now time.Time) {
	for n := 0; now.Sub(f.begin) >= window; n++ {
		if n == windows { // all of them are empty
			f.begin = now
			return
		}
		f.counts[f.closed%windows] = f.left
		f.left = 0
		f.closed++
		f.begin = f.begin.Add(window)
	}
}
