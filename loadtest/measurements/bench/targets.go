package bench

import (
	"math"

	"example.com/flashsale/loadtest/report"
)

// A Target is a limit for a median, or for a ratio of medians, of one run. A
// missed target is reported and does not fail the run.
type Target struct {
	AtLeast *float64 `json:"at_least,omitempty"`
	AtMost  *float64 `json:"at_most,omitempty"` // instead of AtLeast
	Met     bool     `json:"met"`
	Name    string   `json:"name"`
	Value   *float64 `json:"value"` // nil if not measured
}

type limitKind bool

const (
	atLeast limitKind = false
	atMost  limitKind = true
)

// newTarget returns a target with its value, which is NaN if it was not measured.
func newTarget(name string, value, limit float64, kind limitKind) Target {
	t := Target{Name: name, AtLeast: &limit, Met: value >= limit}
	if kind == atMost {
		t.AtLeast, t.AtMost, t.Met = nil, &limit, value <= limit
	}
	if !math.IsNaN(value) {
		t.Value = &value
	}
	return t
}

// value returns NaN if the target was not measured.
func (t Target) value() float64 {
	if t.Value == nil {
		return math.NaN()
	}
	return *t.Value
}

func (t Target) limit() string {
	if t.AtMost != nil {
		return "≤ " + report.Number(*t.AtMost)
	}
	return "≥ " + report.Number(*t.AtLeast)
}

func (t Target) verdict() string {
	switch {
	case t.Value == nil:
		return "not measured"
	case t.Met:
		return "met"
	}
	return "**missed**"
}
