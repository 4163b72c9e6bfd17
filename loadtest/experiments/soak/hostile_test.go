package soak

import (
	"testing"

	"example.com/flashsale/loadtest/trial"
)

func TestHostileClientsMustNeitherSlowHonestClaimsNorFillTheMemory(t *testing.T) {
	t.Parallel()
	for h, want := range map[hostility]int{
		{10, 30, 31, 256}:  0,
		{10, 31, 300, 0}:   1, // slower than three times
		{10, 11, 30, 0}:    1, // nor would they be slow without a limit
		{10, 11, 300, 257}: 1, // memory
		{10, 31, 30, 257}:  3,
	} {
		var v trial.Violations
		if h.judge(&v); len(v.All()) != want {
			t.Errorf("%+v: %q, want %d", h, v.All(), want)
		}
	}
}
