package cluster

import (
	"slices"
	"time"

	"example.com/flashsale/loadtest/rig"
	"example.com/flashsale/loadtest/trial"
)

// An Outage is what the buyers saw of a fault. Times are in seconds.
type Outage struct {
	Lasted      float64 `json:"lasted_s"`      // from the fault to its healing
	Accepted    int     `json:"accepted"`      // claims of the whole sale
	Unavailable int     `json:"unavailable"`   // claims answered with 503
	Lost        int     `json:"lost"`          // claims without a reply
	FailedTime  float64 `json:"unavailable_s"` // in slices with at least one 503 or lost claim
	Gap         float64 `json:"longest_gap_s"` // between two accepted claims
	// from the fault to the first claim accepted after the last that failed before the healing
	Resumed float64 `json:"resumed_after_s"`
	// from the healing to the first claim accepted after the last that failed; 0 if none did
	Normal float64 `json:"normal_after_healing_s"`
	Before float64 `json:"claims_per_s_before"`

	struck time.Time
}

const sliceTime = 100 * time.Millisecond

// outageOf summarises the claims of a sale that ended at end, around a fault.
// claims are in the order of their replies.
func outageOf(claims []rig.Claim, fault trial.Span, end time.Time) Outage {
	struck, healed, begin := fault.Begin, fault.End, fault.Begin.Add(-calm)
	all := rig.Burst{Claims: claims}
	o := Outage{
		struck: struck, Lasted: inSeconds(fault.Took()), Before: acceptedRate(claims, begin, struck),
		Accepted: all.Replies(rig.Accepted), Lost: all.Replies(rig.Lost),
	}
	o.Unavailable = all.Failed() - o.Lost
	failed := map[time.Duration]bool{} // slices
	for _, c := range claims {
		if c.Failed() {
			failed[max(0, c.Received.Sub(begin)/sliceTime)] = true
		}
	}
	o.FailedTime = inSeconds(time.Duration(len(failed)) * sliceTime)
	gaps := trial.Gaps(claims, begin, trial.Accepted)
	o.Gap = inSeconds(trial.Longest(slices.DeleteFunc(gaps,
		func(g trial.Span) bool { return g.End.Before(struck) })))
	if resumed := trial.Recovered(claims, fault); !resumed.IsZero() {
		o.Resumed = inSeconds(resumed.Sub(struck))
	}
	if normal := trial.Recovered(claims, trial.Span{Begin: healed, End: end}); !normal.IsZero() {
		o.Normal = inSeconds(normal.Sub(healed))
	}
	return o
}

// acceptedRate returns the accepted claims per second between two moments.
func acceptedRate(claims []rig.Claim, from, to time.Time) float64 {
	return float64(acceptedBetween(claims, from, to)) / to.Sub(from).Seconds()
}

// acceptedBetween counts the claims that were sent and accepted between two
// moments.
func acceptedBetween(claims []rig.Claim, from, to time.Time) (n int) {
	for _, c := range claims {
		if trial.Accepted(c) && c.Sent.After(from) && !c.Received.After(to) {
			n++
		}
	}
	return n
}

// inSeconds returns d in seconds, rounded to milliseconds.
func inSeconds(d time.Duration) float64 { return d.Round(time.Millisecond).Seconds() }
