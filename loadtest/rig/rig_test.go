package rig

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestStepsTellHowMuchIsLeft(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		s := NewSteps(4)
		s.out = &out
		s.Next("first")
		time.Sleep(10 * time.Second)
		s.Next("%s", "second")
		time.Sleep(2 * time.Second)
		s.Next("third")
		want := "   0.0s  1/4  first\n  10.0s  2/4  second (about 30s left)\n  12.0s  3/4  third (about 12s left)\n"
		if out.String() != want {
			t.Errorf("printed\n%swant\n%s", out.String(), want)
		}
	})
}

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
