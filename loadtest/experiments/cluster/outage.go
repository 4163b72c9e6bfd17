package cluster

import (
	"slices"
	"time"

	"example.com/flashsale/loadtest/rig"
)

// An Outage is what the buyers saw of a fault. Times are in seconds.
type Outage struct {
	Lasted      float64 `json:"lasted_s"`       // from the fault to its healing
	Accepted    int     `json:"accepted"`       // claims of the whole sale
	Unavailable int     `json:"unavailable"`    // claims answered with 503
	Lost        int     `json:"lost"`           // claims without a reply
	FailedTime  float64 `json:"unavailable_s"`  // in slices with at least one 503 or lost claim
	Gap         float64 `json:"longest_gap_s"`  // between two accepted claims
	LongestWait float64 `json:"longest_wait_s"` // of a claim for its reply
	// from the fault to the first claim accepted after the last that failed before the healing
	Resumed float64 `json:"resumed_after_s"`
	// from the healing to the first claim accepted after the last that failed; 0 if none did
	Normal float64 `json:"normal_after_healing_s"`
	Before float64 `json:"claims_per_s_before"`
	After  float64 `json:"claims_per_s_after"`

	slices []slice // of the sale from calm before the fault
}

// A slice is how many replies arrived in sliceTime.
type slice struct{ accepted, failed int }

const (
	// calm is how long a sale runs before a fault and after its healing.
	calm      = 2 * time.Second
	sliceTime = 100 * time.Millisecond
)

// outageOf summarises the claims of a sale that ended at end, around a fault.
func outageOf(claims []claim, struck, healed, end time.Time) Outage {
	claims = slices.SortedFunc(slices.Values(claims), func(a, b claim) int { return a.received.Compare(b.received) })
	o := Outage{Lasted: inSeconds(healed.Sub(struck))}
	for _, c := range claims {
		o.count(c, struck.Add(-calm))
	}
	o.FailedTime = inSeconds(failedTime(o.slices))
	o.Gap = inSeconds(longestGap(claims, struck))
	if resumed := recovery(claims, struck, healed); !resumed.IsZero() {
		o.Resumed = inSeconds(resumed.Sub(struck))
	}
	if normal := recovery(claims, healed, end); !normal.IsZero() {
		o.Normal = inSeconds(normal.Sub(healed))
	}
	o.Before = acceptedRate(claims, struck.Add(-calm), struck)
	o.After = acceptedRate(claims, end.Add(-calm), end)
	return o
}

// count counts c, and in its slice since begin.
func (o *Outage) count(c claim, begin time.Time) {
	s := slice{}
	switch c.verdict {
	case rig.Accepted:
		o.Accepted++
		s.accepted = 1
	case unavailable:
		o.Unavailable++
		s.failed = 1
	case lost:
		o.Lost++
		s.failed = 1
	}
	o.LongestWait = max(o.LongestWait, inSeconds(c.received.Sub(c.sent)))
	i := max(0, int(c.received.Sub(begin)/sliceTime))
	for len(o.slices) <= i {
		o.slices = append(o.slices, slice{})
	}
	o.slices[i].accepted += s.accepted
	o.slices[i].failed += s.failed
}

func (c claim) failed() bool { return c.verdict == unavailable || c.verdict == lost }

// failedTime returns how long the slices last in which a claim failed.
func failedTime(slices []slice) (d time.Duration) {
	for _, s := range slices {
		if s.failed > 0 {
			d += sliceTime
		}
	}
	return d
}

// longestGap returns the longest time between two accepted claims of which the
// later one was received after struck. claims are sorted.
func longestGap(claims []claim, struck time.Time) (gap time.Duration) {
	last := struck
	for _, c := range claims {
		if c.verdict != rig.Accepted {
			continue
		}
		if c.received.After(struck) {
			gap = max(gap, c.received.Sub(last))
		}
		last = c.received
	}
	return gap
}

// recovery returns when the first claim was accepted after the last that failed
// between from and to. It returns the zero time if none failed. claims are sorted.
func recovery(claims []claim, from, to time.Time) (recovered time.Time) {
	failed := false
	for _, c := range claims {
		switch {
		case c.failed() && c.received.After(from) && !c.received.After(to):
			failed, recovered = true, time.Time{}
		case failed && recovered.IsZero() && c.verdict == rig.Accepted:
			recovered = c.received
		}
	}
	return recovered
}

// acceptedRate returns the accepted claims per second between two moments.
func acceptedRate(claims []claim, from, to time.Time) float64 {
	return float64(acceptedBetween(claims, from, to)) / to.Sub(from).Seconds()
}

// acceptedBetween counts the claims that were sent and accepted between two
// moments.
func acceptedBetween(claims []claim, from, to time.Time) (n int) {
	for _, c := range claims {
		if c.verdict == rig.Accepted && c.sent.After(from) && !c.received.After(to) {
			n++
		}
	}
	return n
}

// inSeconds returns d in seconds, rounded to milliseconds.
func inSeconds(d time.Duration) float64 { return d.Round(time.Millisecond).Seconds() }
