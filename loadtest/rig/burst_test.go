package rig

import (
	"slices"
	"testing"
	"time"

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

// Claims that came one after the other may all have met the one that got the last order;
// those that came later, or that met an earlier one, have not.
func TestContendersHaveMetTheLastOrder(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		rounds [][]int // of each claim when it was sent and answered
		orders []int   // the claims of a round that got one
		want   int
	}{
		"all at once":            {[][]int{{0, 9, 0, 9, 0, 9, 0, 9}}, []int{0}, 4},
		"one after the other":    {[][]int{{0, 2, 2, 4, 4, 6, 6, 8}}, []int{0}, 1},
		"while one waits":        {[][]int{{0, 9, 1, 2, 3, 4, 5, 6}}, []int{0}, 4},
		"when all was over":      {[][]int{{0, 2, 1, 3, 4, 6, 4, 6}}, []int{0}, 2},
		"half of the rounds":     {[][]int{{0, 9, 0, 9}, {0, 1, 1, 9}, {0, 1, 1, 9}, {0, 9, 0, 9}}, []int{0}, 1},
		"more than half of them": {[][]int{{0, 9, 0, 9}, {0, 1, 1, 9}, {0, 9, 0, 9}}, []int{0}, 2},
		"the last of many":       {[][]int{{0, 2, 0, 2, 0, 2, 0, 2, 3, 5, 4, 6}}, []int{0, 1, 4}, 2},
		"no order":               {[][]int{{0, 9, 0, 9, 0, 9}}, nil, 0},
	} {
		if got := burst(c.rounds, c.orders).Contenders(len(c.rounds[0]) / 2); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

func burst(rounds [][]int, orders []int) (b Burst) {
	for n, times := range rounds {
		at := func(i int) time.Time { return time.Unix(int64(100*n+times[i]), 0) }
		for i := range len(times) / 2 {
			verdict := "already_claimed"
			if slices.Contains(orders, i) {
				verdict = Accepted
			}
			b.Claims = append(b.Claims, Claim{Sent: at(2 * i), Received: at(2*i + 1), Verdict: verdict})
		}
	}
	return b
}
