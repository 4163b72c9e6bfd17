package admission

import (
	"slices"
	"time"
)

const (
	window  = 200 * time.Millisecond
	windows = 5 // of which the one with the highest rate counts
	known   = 2 // windows, until the rate is known: while many clients connect, few requests are served
)

// A Forecast predicts the waits in one queue from the rate at which requests have
// left it since it was last empty, so that what would be served too late is refused
// at once. The rate is the highest of the last windows, as in BBR: requests leave
// in batches, and a queue that has just formed is served slowly at first. Its zero
// value is the forecast of an empty queue. It is not safe for concurrent use.
type Forecast struct {
	begin  time.Time // of the current window
	left   int       // requests, in the current window
	counts [windows]int
	closed int // windows in which the rate has been counted
}

// Join reports whether one more request may join behind waiting others: it is served
// within longest, and before deadline if that is not zero. With longest 0 it always may.
func (f *Forecast) Join(now time.Time, waiting int, longest time.Duration, deadline time.Time) bool {
	if waiting == 0 {
		*f = Forecast{begin: now}
		return true
	}
	if longest == 0 {
		return true
	}
	wait, ok := f.Wait(now, waiting)
	return !ok || wait <= longest && (deadline.IsZero() || wait <= deadline.Sub(now))
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
	f.roll(now)
	if f.closed < known {
		return 0, false
	}
	rate := slices.Max(f.counts[:])
	if rate == 0 {
		return never, f.closed >= windows
	}
	return time.Duration(float64(waiting) / float64(rate) * float64(window)), true
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
