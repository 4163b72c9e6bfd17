package soak

import (
	"testing"

	"example.com/flashsale/loadtest/trial"
)

func TestHostileClientsMustNotSlowHonestClaims(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		h                 hostility
		withstood, proves bool
	}{
		{hostility{10, 30, 31, 256}, true, true},
		{hostility{10, 31, 300, 0}, false, true},
		{hostility{10, 11, 30, 0}, true, false},
	} {
		var v trial.Violations
		test.h.judge(&v)
		want := 0
		for _, ok := range []bool{test.withstood, test.proves} {
			if !ok {
				want++
			}
		}
		if n := len(v.All()); n != want || test.h.withstood() != test.withstood ||
			test.h.proves() != test.proves {
			t.Errorf("%+v: %d violations, want %d", test.h, n, want)
		}
	}
}

func TestHostileClientsMustNotFillTheMemory(t *testing.T) {
	t.Parallel()
	var v trial.Violations
	hostility{10, 11, 300, 257}.judge(&v)
	if n := len(v.All()); n != 1 {
		t.Errorf("%d violations, want 1: %v", n, v.All())
	}
}
