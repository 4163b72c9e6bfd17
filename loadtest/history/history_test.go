package history

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/flashsale/loadtest/rig"
)

func TestReplyThatContradictsAnEarlierOneIsReported(t *testing.T) {
	t.Parallel()
	placed, told := rig.Claim{Verdict: rig.Accepted, Order: "7"}, rig.Claim{Verdict: "already_claimed", Order: "7"}
	other := rig.Claim{Verdict: "already_claimed", Order: "9"}
	anothers := rig.Claim{User: 1, Verdict: rig.Accepted, Order: "9"}
	for name, test := range map[string]struct {
		claims       []rig.Claim
		contradicted bool
	}{
		"told of the same order":        {[]rig.Claim{placed, told, told}, false},
		"told before the late reply":    {[]rig.Claim{told, placed}, false},
		"placed twice":                  {[]rig.Claim{placed, placed}, true},
		"placed twice, and told before": {[]rig.Claim{told, placed, placed}, true},
		"told of a different order":     {[]rig.Claim{placed, other}, true},
		"the order of another user":     {[]rig.Claim{placed, anothers}, false},
	} {
		h := New()
		var err error
		for _, c := range test.claims {
			err = h.Add(c)
		}
		if (err != nil) != test.contradicted {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestEveryToldOrderIsReturnedOnce(t *testing.T) {
	t.Parallel()
	h := New()
	for _, c := range []rig.Claim{{User: 1, Order: "7"}, {User: 2}, {User: 1, Order: "7"}, {User: 2, Order: "8"}} {
		if err := h.Add(c); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]rig.Claim{{User: 1, Order: "7"}, {User: 2, Order: "8"}}, h.Told(0)); diff != "" {
		t.Error(diff)
	}
	if len(h.Told(1)) != 1 || len(h.Told(2)) != 0 || h.Order(2, 0) != "8" || h.Order(3, 0) != "" {
		t.Errorf("later ones: %v, %v; orders: %q, %q", h.Told(1), h.Told(2), h.Order(2, 0), h.Order(3, 0))
	}
}

func at(seconds float64) time.Time {
	return time.Unix(1000, 0).Add(time.Duration(seconds * float64(time.Second)))
}

func TestGapsAndCountsOfASale(t *testing.T) {
	t.Parallel()
	reply := func(seconds float64, verdict string) rig.Claim {
		return rig.Claim{Received: at(seconds), Verdict: verdict}
	}
	claims := Sorted([]rig.Claim{
		reply(-1, rig.Accepted), reply(2, "sold_out"), reply(0.5, rig.Accepted), reply(2.5, rig.Unavailable),
		reply(2.6, rig.Lost), reply(5, rig.Accepted),
	})
	answered := []Span{{at(0), at(0.5)}, {at(0.5), at(2)}, {at(2), at(5)}}
	if diff := cmp.Diff(answered, Gaps(claims, at(0), Answered)); diff != "" {
		t.Error(diff)
	}
	if longest := Longest(Gaps(claims, at(0), Accepted)); longest != 4500*time.Millisecond {
		t.Errorf("the longest gap is %s", longest)
	}
	if diff := cmp.Diff([]Count{{Accepted: 2}, {}, {Refused: 1, Failed: 2}, {}, {}, {Accepted: 1}},
		Counts(claims, at(0), time.Second)); diff != "" {
		t.Error(diff)
	}
	if recovered := Recovered(claims, Span{at(0), at(3)}); !recovered.Equal(at(5)) {
		t.Errorf("recovered at %s", recovered)
	}
	if recovered := Recovered(claims, Span{at(0), at(2)}); !recovered.IsZero() {
		t.Errorf("recovered at %s from nothing", recovered)
	}
}
