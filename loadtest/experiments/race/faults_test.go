package race

import (
	"testing"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/loadtest/rig"
	"example.com/flashsale/loadtest/verdict"
)

// A fault strikes while a claim is in its section: another one enters beside a holder
// that is suspended for longer than its lease, or that Redis has forgotten, and none
// beside one whose lock a connection keeps.
func TestFaultsStrikeHolders(t *testing.T) {
	t.Parallel()
	stack(t) // has built bin/api
	own, err := rig.StartIn(labtest.Lab(t))
	check.NoError(t, err)
	c := start(t, own)
	for _, test := range []struct {
		preset      Request
		lock, fault string
		overlaps    bool
	}{
		{suspendedHolder(), "redis", suspended, true}, {emptiedRedis(), "redis", emptied, true},
		{suspendedHolder(), "getlock", suspended, false},
	} {
		request := test.preset
		request.Sides = request.Sides[:1]
		request.Sides[0].Lock, request.Sides[0].Fault = test.lock, test.fault
		r := c.race(request)
		for n := 1; test.overlaps && n < attempts && r.Sides[0].Counts.Overlaps == 0; n++ {
			r = c.race(request) // the holder may have left before it was suspended
		}
		side := r.Sides[0]
		if overlaps := side.Counts.Overlaps > 0; overlaps != test.overlaps {
			t.Errorf("%s, %s: %d overlaps", test.lock, test.fault, side.Counts.Overlaps)
		}
		if !side.struck() {
			t.Errorf("%s, %s: struck %+v", test.lock, test.fault, side.Struck)
		}
		if side.Counts.Duplicates+side.Counts.Oversold+side.Counts.AckedMissing > 0 {
			t.Errorf("%s, %s: %+v", test.lock, test.fault, *side.Counts)
		}
	}
}

// A fault that comes when the holder has left shows nothing.
func TestFaultThatStruckNothingIsVoid(t *testing.T) {
	t.Parallel()
	side := Side{Settings: suspendedHolder().Sides[0], Sections: []Section{{Instance: "a", Granted: 10, Released: 20}}}
	w := Workload{Users: 4, ClaimsPerUser: 2, PerUser: 1, Stock: 4}
	counts := Counts{Totals: rig.Totals{Orders: 4}, InitialStock: 4, Accepted: 4,
		Codes: map[string]int{"already_claimed": 4}}
	for name, c := range map[string]struct {
		struck *Struck
		void   bool
	}{
		"in a section":     {&Struck{Instance: "a", From: 15}, false},
		"other instance":   {&Struck{Instance: "b", From: 15}, true},
		"between sections": {&Struck{Instance: "a", From: 21}, true},
		"never":            {nil, true},
	} {
		side.Struck = c.struck
		for _, p := range promises(side, w, counts) {
			if void := p.Verdict == verdict.Void; void != c.void {
				t.Errorf("%s: %s is %s", name, p.ID, p.Verdict)
			}
		}
	}
}
