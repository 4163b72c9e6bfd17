package bench

import (
	"encoding/json"
	"fmt"
	"math"
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
		return "≤ " + formatNumber(t.Limit)
	}
	return "≥ " + formatNumber(t.Limit)
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

// targets returns all targets with their values in f.
func targets(f *Figures) []Target {
	return []Target{
		{Name: "grouped / articles' flow, one instance", Value: f.Ratio("claims/direct/grouped", "claims/direct/each"), Limit: 12},
		{Name: "grouped / empty handler, one instance", Value: f.Ratio("claims/direct/grouped", "claims/direct/empty"), Limit: 0.38},
		{Name: "CPU time of the service for a claim, grouped / empty handler", Value: f.Ratio("claims/direct/grouped CPU", "claims/direct/empty CPU"), Limit: 2.8, AtMost: true},
		{Name: "grouped / articles' flow, two instances behind nginx", Value: f.Ratio("claims/nginx/grouped", "claims/nginx/each"), Limit: 7},
		{Name: "p99 of grouped at a quarter of its peak / of the empty handler at that rate", Value: f.Ratio("open/quarter/grouped p99", "open/quarter/empty p99"), Limit: 5, AtMost: true},
		{Name: "sold-out replies / empty handler", Value: f.Ratio("losers/sold out", "claims/direct/empty"), Limit: 0.6},
		{Name: "articles' flow in the service / baseline", Value: f.Ratio("claims/direct/each", "claims/direct/by hand"), Limit: 0.85},
		{Name: "redislock pairs, 1 goroutine / SET NX + compare-and-delete", Value: f.Ratio("pairs/1/redislock", "pairs/1/raw"), Limit: 0.9},
		{Name: "redislock pairs, batched, 128 goroutines / best peer", Value: f.Median("pairs/128/redislock batched") / bestPeer(f, "pairs/128/"), Limit: 1.7},
		{Name: "redislock pairs, batched, 512 goroutines / best peer", Value: f.Median("pairs/512/redislock batched") / bestPeer(f, "pairs/512/"), Limit: 2.5},
		{Name: "contended hand-overs / best peer", Value: f.Median("contended/redislock") / bestPeer(f, "contended/"), Limit: 1.2},
		{Name: "lock calls per hand-over", Value: f.Median("contended/redislock calls"), Limit: contendProcesses + 1, AtMost: true},
		{Name: "claims with 10^6 orders / with 10^4", Value: f.Ratio("growth/1000000 orders", "growth/10000 orders"), Limit: 0.85},
		{Name: "10 coupons on sale / one", Value: f.Ratio("growth/10 coupons", "growth/1 coupons"), Limit: 0.9},
		{Name: "1,000 coupons on sale / one", Value: f.Ratio("growth/1000 coupons", "growth/1 coupons"), Limit: 0.8},
		{Name: "lock per segment, 16 segments / lock per coupon, 20 ms in the lock", Value: f.Ratio("segments/paused/lock per segment", "segments/paused/lock per coupon"), Limit: 8},
		{Name: "claims made at 2 × the peak / at the peak, one instance", Value: f.Median("overload/direct 2x made of peak"), Limit: 0.8},
		{Name: "claims made at 4 × the peak / at the peak, one instance", Value: f.Median("overload/direct 4x made of peak"), Limit: 0.8},
		{Name: "claims made at 2 × the peak / at the peak, behind nginx", Value: f.Median("overload/nginx 2x made of peak"), Limit: 0.8},
		{Name: "claims made at 4 × the peak / at the peak, behind nginx", Value: f.Median("overload/nginx 4x made of peak"), Limit: 0.8},
		{Name: "slowest success in a crowd (ms)", Value: inCrowds(f, "made max"), Limit: 3000, AtMost: true},
		{Name: "p99 of a refusal in a crowd (ms)", Value: inCrowds(f, "refused p99"), Limit: 250, AtMost: true},
		{Name: "claims of a crowd without a reply", Value: inCrowds(f, "unanswered"), Limit: 0, AtMost: true},
		{Name: "time to normal after a crowd (ms)", Value: inCrowds(f, "time to normal"), Limit: 1000, AtMost: true},
		{Name: "service memory in a crowd (MB)", Value: inCrowds(f, "memory"), Limit: 256, AtMost: true},
		{Name: "service memory at 4,096 connections (MB)", Value: f.Median("growth/4096 connections memory"), Limit: 200, AtMost: true},
	}
}

// inCrowds returns the highest median of a figure of the crowds that are larger than
// the capacity and leave the servers all CPU time.
func inCrowds(f *Figures, figure string) float64 {
	var names []string
	for _, site := range []string{"direct", "nginx"} {
		for _, rate := range []string{"2x", "4x"} {
			names = append(names, "overload/"+site+" "+rate+" "+figure)
		}
	}
	return f.Best(names...)
}

// bestPeer returns the highest median of the peers' figures.
func bestPeer(f *Figures, prefix string) float64 {
	var names []string
	for _, peer := range peerLocks {
		names = append(names, prefix+peer)
	}
	return f.Best(names...)
}
