package bench

import (
	"math"
	"slices"

	"example.com/flashsale/loadtest/report"
	"example.com/flashsale/loadtest/stats"
)

// samples are the values of a quantity, one for each repetition. NaN stands for one
// that is void: it cannot be, or its load was not sent.
type samples []float64

// over is the ratio within each repetition. A machine that is slow for a time is
// slow for both.
func (s samples) over(divisor samples) (ratios samples) {
	for i := range min(len(s), len(divisor)) {
		ratios = append(ratios, s[i]/divisor[i])
	}
	return ratios
}

// void reports whether a value is.
func (s samples) void() bool { return slices.ContainsFunc(s, math.IsNaN) }

// spread returns the lowest value, the median and the highest. All are NaN if s is
// void or empty.
func (s samples) spread() (low, median, high float64) {
	if len(s) == 0 || s.void() {
		return math.NaN(), math.NaN(), math.NaN()
	}
	return slices.Min(s), stats.Quantile(s, 0.5), slices.Max(s)
}

// A Target is a limit for a quantity of one run, or for a ratio of two. It is met or
// missed if the values of all repetitions agree. Otherwise it is undecided, and void
// if the value of a repetition is. Only a met target says yes; no other fails the run.
type Target struct {
	AtLeast *float64 `json:"at_least,omitempty"`
	AtMost  *float64 `json:"at_most,omitempty"` // instead of AtLeast
	Met     bool     `json:"met"`
	Name    string   `json:"name"`
	Value   *float64 `json:"value"` // the median; nil if the target is void or was not measured
	Low     *float64 `json:"low,omitempty"`
	High    *float64 `json:"high,omitempty"`
	Verdict string   `json:"verdict"`
}

// The verdicts on targets.
const (
	met, missed, undecided, void, notMeasured = "met", "missed", "undecided", "void", "not measured"
)

type limitKind bool

const (
	atLeast limitKind = false
	atMost  limitKind = true
)

// newTarget returns a target that is judged by the values of all repetitions.
func newTarget(name string, values samples, limit float64, kind limitKind) Target {
	t := Target{Name: name, AtLeast: &limit, Verdict: notMeasured}
	if kind == atMost {
		t.AtLeast, t.AtMost = nil, &limit
	}
	low, median, high := values.spread()
	switch {
	case len(values) == 0:
		return t
	case values.void():
		t.Verdict = void
		return t
	}
	t.Value, t.Low, t.High = &median, &low, &high
	switch keeps := func(v float64) bool { return v == limit || v > limit == (kind == atLeast) }; {
	case keeps(low) && keeps(high):
		t.Met, t.Verdict = true, met
	case keeps(low) || keeps(high):
		t.Verdict = undecided
	default:
		t.Verdict = missed
	}
	return t
}

// value returns NaN if the target has none.
func (t Target) value() float64 {
	if t.Value == nil {
		return math.NaN()
	}
	return *t.Value
}

// measured is the median with the range of the repetitions.
func (t Target) measured() string {
	if t.Value == nil {
		return report.NotMeasured
	}
	return inRange(*t.Low, *t.Value, *t.High)
}

func inRange(low, median, high float64) string {
	if math.IsNaN(median) {
		return report.NotMeasured
	}
	return report.Number(median) + " (" + report.Number(low) + "–" + report.Number(high) + ")"
}

func (t Target) limit() string {
	if t.AtMost != nil {
		return "≤ " + report.Number(*t.AtMost)
	}
	return "≥ " + report.Number(*t.AtLeast)
}
