package rig

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestBurstCountsItsClaims(t *testing.T) {
	t.Parallel()
	b := Burst{Claims: []Claim{
		{Verdict: Accepted, Order: "1", Instance: "a"}, {Verdict: Accepted, Order: "2", Instance: "b"},
		{Verdict: "sold_out", Instance: "b"}, {Verdict: Unexpected, Instance: "b"},
		{Verdict: "unavailable", Instance: "none"},
	}}
	if diff := cmp.Diff(map[string]int{Accepted: 2, "sold_out": 1, Unexpected: 1, "unavailable": 1},
		b.Verdicts()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]int{"a": 1, "b": 3, "none": 1}, b.Instances()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(b.Claims[:2], b.Acknowledged()); diff != "" {
		t.Error(diff)
	}
	if n := b.Unexpected(); n != 2 {
		t.Errorf("%d unexpected, want 2", n)
	}
}
