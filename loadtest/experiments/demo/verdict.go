package demo

import (
	"fmt"

	"example.com/flashsale/loadtest/rig"
	"example.com/flashsale/loadtest/verdict"
)

// A Result is what an experiment has measured.
type Result struct {
	Experiment
	rig.Totals
	rig.Burst

	number   int // of its row
	stack    *rig.Stack
	generate rig.Generator
	dir      string // of the load generator's files
}

// damage describes how p is broken, or is empty if p held.
func (r *Result) damage(p Promise) string {
	for _, d := range []struct {
		promise Promise
		n       int
		done    string
	}{
		{Stock, r.Oversold, "oversold"}, {Stock, r.Surplus, "surplus"}, {OneEach, r.Duplicates, "duplicates"},
		{AllSold, r.AckedMissing, "acked missing"}, {AllSold, r.Undersold, "undersold"},
		{AllSold, r.Unsold, "unsold"}, {AllSold, r.Unbalanced, "unbalanced"},
	} {
		if d.promise == p && d.n > 0 {
			return fmt.Sprintf("%d %s", d.n, d.done)
		}
	}
	return ""
}

// Verdict says what r has shown. Harm proves a control whatever its load was; that
// nothing was harmed proves something only if the load was as it has to be.
func (r *Result) Verdict() verdict.Verdict {
	if len(r.harms()) > 0 {
		return verdict.Wrong
	}
	control := len(r.Breaks) > 0
	return verdict.Of(control, control && len(r.unbroken()) == 0, len(r.loadFaults()) == 0)
}

// Reasons says why r did not come out as it must.
func (r *Result) Reasons() (reasons []string) {
	switch r.Verdict() {
	case verdict.Wrong:
		return r.harms()
	case verdict.Lucky:
		return r.unbroken()
	case verdict.Void:
		return r.loadFaults()
	}
	return nil
}

// harms returns what went wrong that must not.
func (r *Result) harms() (harms []string) {
	for _, p := range promises {
		if damage := r.damage(p); damage != "" && !r.breaks(p) {
			harms = append(harms, fmt.Sprintf("%s had to hold: %s", p, damage))
		}
	}
	if n := r.Unexpected(); n > 0 && len(r.Breaks) == 0 {
		harms = append(harms, fmt.Sprintf("%d replies were neither 201 nor 409", n))
	}
	return harms
}

// unbroken returns the promises that had to break and did not.
func (r *Result) unbroken() (held []string) {
	for _, p := range r.Breaks {
		if r.damage(p) == "" {
			held = append(held, fmt.Sprintf("%s had to break and did not, although %d claims met",
				p, r.Contenders(r.BurstSize())))
		}
	}
	return held
}

// minContenders is how many claims must have been in flight while the last order of
// their round was claimed, in most rounds. With that many, every control has been seen
// to break.
const minContenders = 16

// loadFaults returns the reasons to distrust the load itself.
func (r *Result) loadFaults() (faults []string) {
	if got, want := len(r.Claims), r.Requests(); got != want {
		faults = append(faults, fmt.Sprintf("%d of %d claims were sent", got, want))
	}
	if n := r.Contenders(r.BurstSize()); n < minContenders {
		faults = append(faults, fmt.Sprintf(
			"only %d claims were in flight while the last order of most rounds was claimed, want %d; the last of a round was sent %s after its first",
			n, minContenders, milliseconds(r.Skew(r.BurstSize()))))
	}
	instances := r.Instances()
	for _, name := range []string{"a", "b"} {
		if instances[name] == 0 {
			faults = append(faults, fmt.Sprintf("instance %s replied to no claim", name))
		}
	}
	return faults
}
