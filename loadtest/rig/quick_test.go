package rig

import "testing"

func TestModeIsQuickOrNothing(t *testing.T) {
	for mode, want := range map[string]struct{ quick, ok bool }{
		"": {false, true}, "quick": {true, true}, "fast": {false, false}, "QUICK": {false, false},
	} {
		t.Setenv("FAULTS", mode)
		if quick, err := Quick("FAULTS"); quick != want.quick || (err == nil) != want.ok {
			t.Errorf("%q: %v, %v", mode, quick, err)
		}
	}
}
