package rig

import (
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

// Claims that came one after the other may all have met the one that got the order;
// those that came later have met nobody.
func TestContendersHaveMetTheLastOrder(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		rounds [][]int // of each claim when it was sent and answered; the first got the order
		want   int
	}{
		"all at once":            {[][]int{{0, 9, 0, 9, 0, 9, 0, 9}}, 4},
		"one after the other":    {[][]int{{0, 2, 2, 4, 4, 6, 6, 8}}, 1},
		"while one waits":        {[][]int{{0, 9, 1, 2, 3, 4, 5, 6}}, 4},
		"when all was over":      {[][]int{{0, 2, 1, 3, 4, 6, 4, 6}}, 2},
		"half of the rounds":     {[][]int{{0, 9, 0, 9}, {0, 1, 1, 9}, {0, 1, 1, 9}, {0, 9, 0, 9}}, 1},
		"more than half of them": {[][]int{{0, 9, 0, 9}, {0, 1, 1, 9}, {0, 9, 0, 9}}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := burst(c.rounds).Contenders(len(c.rounds[0]) / 2); got != c.want {
				t.Errorf("%d, want %d", got, c.want)
			}
		})
	}
}

// Who met an earlier order has not met the last one.
func TestContendersAreThoseOfTheLastOfManyOrders(t *testing.T) {
	t.Parallel()
	b := burst([][]int{{0, 2, 0, 2, 0, 2, 0, 2, 3, 5, 4, 6}})
	for _, order := range []int{1, 4} {
		b.Claims[order].Verdict = Accepted
	}
	if n := b.Contenders(6); n != 2 {
		t.Errorf("%d, want the order and the claim beside it", n)
	}
}

func TestNobodyMeetsAnOrderThatThereIsNot(t *testing.T) {
	t.Parallel()
	b := burst([][]int{{0, 9, 0, 9, 0, 9}})
	b.Claims[0].Verdict = "sold_out"
	if n := b.Contenders(3); n != 0 {
		t.Errorf("%d claims met no order", n)
	}
}

func burst(rounds [][]int) (b Burst) {
	for n, times := range rounds {
		at := func(i int) time.Time { return time.Unix(int64(100*n+times[i]), 0) }
		for i := 0; i < len(times); i += 2 {
			verdict := Accepted
			if i > 0 {
				verdict = "already_claimed"
			}
			b.Claims = append(b.Claims, Claim{Sent: at(i), Received: at(i + 1), Verdict: verdict})
		}
	}
	return b
}
