package soak

import (
	"testing"
	"time"
)

func TestDurationIsAtLeastTwentySeconds(t *testing.T) {
	t.Parallel()
	for setting, want := range map[string]time.Duration{"": 5 * time.Minute, "60s": time.Minute, "19s": 0, "long": 0} {
		if got, err := durationFrom(setting); got != want || (err == nil) != (want > 0) {
			t.Errorf("SOAK=%s: %v, %v; want %v", setting, got, err, want)
		}
	}
}
