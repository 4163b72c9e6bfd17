package race

import (
	"slices"
	"testing"
)

// A fault strikes while a claim is in its section: another one enters beside a holder
// that is suspended for longer than its lease, or that Redis has forgotten, and none
// beside one whose lock a connection keeps, or whose reply was lost.
func TestFaultsStrikeHolders(t *testing.T) {
	t.Parallel()
	c := start(t)
	for _, test := range []struct {
		preset      Request
		lock, fault string
		overlaps    bool
	}{
		{suspendedHolder(), "redis", suspended, true}, {emptiedRedis(), "redis", emptied, true},
		{suspendedHolder(), "getlock", suspended, false}, {suspendedHolder(), "redis", lostReply, false},
	} {
		request := test.preset
		request.Sides = request.Sides[:1]
		request.Sides[0].Lock, request.Sides[0].Fault = test.lock, test.fault
		r, _ := c.race(request)
		for n := 1; test.overlaps && n < attempts && r.Sides[0].Counts.Overlaps == 0; n++ {
			r, _ = c.race(request) // the holder may have left before it was suspended
		}
		side := r.Sides[0]
		if overlaps := side.Counts.Overlaps > 0; overlaps != test.overlaps {
			t.Errorf("%s, %s: %d overlaps", test.lock, test.fault, side.Counts.Overlaps)
		}
		if side.Struck == nil || !strikesASection(side) {
			t.Errorf("%s, %s: struck %+v", test.lock, test.fault, side.Struck)
		}
		if side.Counts.Duplicates+side.Counts.Oversold+side.Counts.Missing > 0 {
			t.Errorf("%s, %s: %+v", test.lock, test.fault, *side.Counts)
		}
	}
}

// strikesASection reports whether the fault struck while a section was running.
func strikesASection(s Side) bool {
	return slices.ContainsFunc(s.Sections,
		func(x Section) bool { return x.Granted <= s.Struck.From && s.Struck.From <= x.Released })
}

func TestFaultsAreRefusedThatCannotStrike(t *testing.T) {
	t.Parallel()
	for field, change := range map[string]func(*Request){
		"sides.0.fault":     func(r *Request) { r.Sides[0].Lock, r.Sides[0].Fault = "etcd", emptied },
		"sides.1.fault":     func(r *Request) { r.Sides[1].Lock = "local" },
		"sides.0.lease_ms":  func(r *Request) { r.Sides[0].LeaseMS = 30000 },
		"workload.pause_ms": func(r *Request) { r.Workload.PauseMS = 0 },
	} {
		r := suspendedHolder()
		if wrong := check(r); len(wrong) > 0 {
			t.Fatalf("%+v", wrong)
		}
		change(&r)
		if wrong := check(r); !slices.ContainsFunc(wrong, func(e FieldError) bool { return e.Field == field }) {
			t.Errorf("%s: %+v", field, wrong)
		}
	}
}
