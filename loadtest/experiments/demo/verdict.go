package demo

import (
	"fmt"
	"slices"

	"example.com/flashsale/loadtest/rig"
)

// A Result is what an experiment has measured.
type Result struct {
	Experiment
	rig.Totals
	rig.Burst
	// the service is not the rig's own: its totals are the service's own, and its instances may have any name
	Remote  bool
	Failure error // why the experiment did not finish
}

// damage describes how p is broken, or is empty if p held.
func (r Result) damage(p Promise) string {
	switch {
	case p == Stock && r.Oversold > 0:
		return fmt.Sprintf("%d oversold", r.Oversold)
	case p == OneEach && r.Duplicates > 0:
		return fmt.Sprintf("%d duplicates", r.Duplicates)
	case p == AllSold && r.AckedMissing > 0:
		return fmt.Sprintf("%d acked missing", r.AckedMissing)
	case p == AllSold && r.Undersold > 0:
		return fmt.Sprintf("%d undersold", r.Undersold)
	case p == AllSold && r.Unsold > 0:
		return fmt.Sprintf("%d unsold", r.Unsold)
	case p == AllSold && r.Unbalanced > 0:
		return fmt.Sprintf("%d unbalanced", r.Unbalanced)
	}
	return ""
}

// Faults returns the reasons why r did not come out as it must. A control that broke
// nothing is at fault: its load could not have broken anything.
func (r Result) Faults() []string {
	if r.Failure != nil {
		return []string{"did not finish: " + r.Failure.Error()}
	}
	var faults []string
	for _, p := range promises {
		switch damage := r.damage(p); {
		case r.breaks(p) && damage == "":
			faults = append(faults, fmt.Sprintf("%s had to break and did not: no real overlap", p))
		case !r.breaks(p) && damage != "":
			faults = append(faults, fmt.Sprintf("%s had to hold: %s", p, damage))
		}
	}
	return append(faults, r.loadFaults()...)
}

// BrokeTooLittle reports whether r is a control that finished and did not break
// all that it has to break.
func (r Result) BrokeTooLittle() bool {
	return r.Failure == nil && slices.ContainsFunc(r.Breaks, func(p Promise) bool { return r.damage(p) == "" })
}

// minInFlight is how many claims must have been in flight at one moment. With
// that many, every control has been seen to break. k6 reaches nearly the whole
// burst; JMeter reaches about fifty on two busy cores.
const minInFlight = 16

// loadFaults returns the reasons to distrust the load itself.
func (r Result) loadFaults() []string {
	var faults []string
	if got, want := len(r.Spans), r.Requests(); got != want {
		faults = append(faults, fmt.Sprintf("%d of %d claims were sent", got, want))
	}
	if n := r.Unexpected(); n > 0 && len(r.Breaks) == 0 {
		faults = append(faults, fmt.Sprintf("%d replies were neither 201 nor 409", n))
	}
	if n := r.MaxInFlight(); n < minInFlight {
		faults = append(faults, fmt.Sprintf("at most %d claims were in flight at once, want %d", n, minInFlight))
	}
	instances := r.Instances()
	for _, name := range []string{"a", "b"} {
		if !r.Remote && instances[name] == 0 {
			faults = append(faults, fmt.Sprintf("instance %s replied to no claim", name))
		}
	}
	return faults
}

// Pass reports whether r broke what it has to break, and held the rest.
func (r Result) Pass() bool { return len(r.Faults()) == 0 }

func (r Result) verdict() string { return rig.Verdict(r.Pass(), len(r.Breaks) > 0) }
