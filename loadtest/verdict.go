package main

import (
	"fmt"
	"slices"
)

// A Result is one experiment as it went.
type Result struct {
	Experiment
	Audit
	Burst
	Remote  bool  // the service is not ours: only REST is known of it
	Failure error // why the experiment did not go to its end
}

// broken says what the data hold against p; empty if it held.
func (r Result) broken(p Promise) string {
	switch {
	case p == Stock && r.Oversold > 0:
		return fmt.Sprintf("%d oversold", r.Oversold)
	case p == OneEach && r.Duplicates > 0:
		return fmt.Sprintf("%d duplicates", r.Duplicates)
	case p == AllSold && r.AckedMissing > 0:
		return fmt.Sprintf("%d acked missing", r.AckedMissing)
	case p == AllSold && r.Undersold > 0:
		return fmt.Sprintf("%d unsold", r.Undersold)
	case p == AllSold && r.Adrift > 0:
		return fmt.Sprintf("%d coupons adrift", r.Adrift)
	}
	return ""
}

// Faults are the reasons why r is not what it had to be; none if it is. A
// control that breaks nothing is at fault: it shows that the load could not
// have broken anything.
func (r Result) Faults() []string {
	if r.Failure != nil {
		return []string{"did not go to its end: " + r.Failure.Error()}
	}
	var faults []string
	for _, p := range promises {
		switch damage := r.broken(p); {
		case r.breaks(p) && damage == "":
			faults = append(faults, fmt.Sprintf("%s had to break and did not: no real overlap", p))
		case !r.breaks(p) && damage != "":
			faults = append(faults, fmt.Sprintf("%s had to hold: %s", p, damage))
		}
	}
	return append(faults, r.loadFaults()...)
}

// TooQuiet reports whether r is a control that went well and broke less than
// it had to.
func (r Result) TooQuiet() bool {
	return r.Failure == nil && slices.ContainsFunc(r.Breaks, func(p Promise) bool { return r.broken(p) == "" })
}

// overlap is the fewest claims in flight at once that a run must reach. With
// so many every control has been seen to break; k6 reaches nearly the whole
// burst, JMeter on two busy cores some fifty.
const overlap = 16

// loadFaults are reasons to distrust the load itself.
func (r Result) loadFaults() []string {
	var faults []string
	if got, want := len(r.Spans), r.Requests(); got != want {
		faults = append(faults, fmt.Sprintf("%d of %d claims were sent", got, want))
	}
	if n := r.Unexpected(); n > 0 && len(r.Breaks) == 0 {
		faults = append(faults, fmt.Sprintf("%d answers were neither 201 nor 409", n))
	}
	if most := r.MaxInFlight(); most < overlap {
		faults = append(faults, fmt.Sprintf("only %d claims were ever in flight at once, want %d", most, overlap))
	}
	for _, name := range []string{"a", "b"} {
		if !r.Remote && r.Instances[name] == 0 {
			faults = append(faults, fmt.Sprintf("instance %s answered no claim", name))
		}
	}
	return faults
}

// Pass reports whether r is what it had to be.
func (r Result) Pass() bool { return len(r.Faults()) == 0 }
