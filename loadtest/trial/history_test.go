package trial

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/flashsale/loadtest/rig"
)

func TestOrderThatIsMadeTwiceIsReported(t *testing.T) {
	t.Parallel()
	made, told := rig.Claim{Verdict: rig.Accepted, Order: "7"}, rig.Claim{Verdict: "already_claimed", Order: "7"}
	anothers := rig.Claim{User: 1, Verdict: rig.Accepted, Order: "7"}
	next := rig.Claim{Verdict: rig.Accepted, Order: "9"} // the first has ended
	for name, test := range map[string]struct {
		claims []rig.Claim
		broken bool
	}{
		"told of the same order":      {[]rig.Claim{made, told, told}, false},
		"told before the late reply":  {[]rig.Claim{told, made}, false},
		"made twice":                  {[]rig.Claim{made, made}, true},
		"made twice, and told before": {[]rig.Claim{told, made, made}, true},
		"the order of another user":   {[]rig.Claim{made, anothers}, false}, // which the database has once
		"another order":               {[]rig.Claim{made, next}, false},
	} {
		var h History
		for _, c := range test.claims {
			h.Add(c)
		}
		if (len(h.All()) > 0) != test.broken {
			t.Errorf("%s: %v", name, h.All())
		}
	}
}

// The database is asked for each of them, so one that is lost or of another is found.
func TestEveryOrderIsToldOnce(t *testing.T) {
	t.Parallel()
	var h History
	first, second := rig.Claim{User: 1, Order: "7"}, rig.Claim{User: 2, Order: "8"}
	third, ofTwo := rig.Claim{User: 1, Order: "9"}, rig.Claim{User: 1, Number: 2, Order: "10"}
	for _, c := range []rig.Claim{first, {User: 2}, first, second, third, ofTwo} {
		h.Add(c)
	}
	if diff := cmp.Diff([]rig.Claim{first, second, third, ofTwo}, h.Told(0)); diff != "" {
		t.Error(diff)
	}
	for c, want := range map[rig.Claim]string{
		{User: 1}: "9", {User: 1, Number: 2}: "10", {User: 2}: "8", {User: 3}: "",
	} {
		if got := h.Order(c); got != want {
			t.Errorf("order of %+v: %q, want %q", c, got, want)
		}
	}
	if len(h.Told(1)) != 3 || len(h.Told(4)) != 0 {
		t.Errorf("later ones: %v, %v", h.Told(1), h.Told(4))
	}
}

// The database is asked for each of them, so one that is lost is found.
func TestUsesAndReturnsThatWereMadeAreFinal(t *testing.T) {
	t.Parallel()
	var h History
	did := func(k Kind, order, verdict string) Operation {
		o := Operation{Kind: k, Claim: rig.Claim{Order: order, Verdict: verdict}}
		h.change(o)
		return o
	}
	used := did(Use, "7", rig.Accepted)
	did(Read, "7", rig.Accepted)
	did(Return, "7", "already_used")
	returned := did(Return, "8", rig.Accepted)
	for n, want := range [][]Operation{{used, returned}, {returned}, {}} {
		if diff := cmp.Diff(want, h.Final(n)); diff != "" {
			t.Errorf("without the first %d: %s", n, diff)
		}
	}
}
