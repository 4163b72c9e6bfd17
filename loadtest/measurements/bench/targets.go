package bench

import (
	"encoding/json"
	"fmt"
	"math"

	"example.com/flashsale/loadtest/report"
)

// A Target is a limit for a median, or for a ratio of medians, of one run. A
// missed target is reported and does not fail the run.
type Target struct {
	Name   string
	Value  float64 // NaN if not measured
	Limit  float64
	AtMost bool // the limit is a maximum, otherwise a minimum
}

// Met reports whether the value is within the limit.
func (t Target) Met() bool {
	if t.AtMost {
		return t.Value <= t.Limit
	}
	return t.Value >= t.Limit
}

// MarshalJSON encodes the limit as at_least or at_most, and NaN as null.
func (t Target) MarshalJSON() ([]byte, error) {
	kind := "at_least"
	if t.AtMost {
		kind = "at_most"
	}
	members := map[string]any{"name": t.Name, "value": t.Value, kind: t.Limit, "met": t.Met()}
	if !t.measured() {
		members["value"] = nil
	}
	return json.Marshal(members)
}

// UnmarshalJSON decodes what MarshalJSON encodes.
func (t *Target) UnmarshalJSON(text []byte) error {
	var members struct {
		Name    string
		Value   *float64
		AtLeast *float64 `json:"at_least"`
		AtMost  *float64 `json:"at_most"`
	}
	if err := json.Unmarshal(text, &members); err != nil {
		return err
	}
	*t = Target{Name: members.Name, Value: math.NaN(), AtMost: members.AtMost != nil}
	if members.Value != nil {
		t.Value = *members.Value
	}
	switch {
	case members.AtMost != nil:
		t.Limit = *members.AtMost
	case members.AtLeast != nil:
		t.Limit = *members.AtLeast
	default:
		return fmt.Errorf("target %q has no limit", t.Name)
	}
	return nil
}

func (t Target) measured() bool { return !math.IsNaN(t.Value) }

func (t Target) limit() string {
	if t.AtMost {
		return "≤ " + report.Number(t.Limit)
	}
	return "≥ " + report.Number(t.Limit)
}

func (t Target) verdict() string {
	switch {
	case !t.measured():
		return "not measured"
	case t.Met():
		return "met"
	}
	return "**missed**"
}
