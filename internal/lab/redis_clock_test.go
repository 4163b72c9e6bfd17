package lab_test

import (
	"testing"
	"time"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lab"
	"example.com/flashsale/internal/lab/labtest"
)

// The expiry of a key is a time of the server's clock.
func TestStepOfTheClockMovesTheEndOfATTL(t *testing.T) {
	t.Parallel()
	server := labtest.Start(t, lab.StartSteppedRedis)
	rdb := labtest.Dial(t, server.Redis)
	check.NoError(t, rdb.Set(t.Context(), "k", "v", time.Minute).Err())
	for _, step := range []struct{ to, from, below time.Duration }{
		{-time.Hour, time.Hour, time.Hour + time.Minute},
		{50 * time.Second, time.Millisecond, 10 * time.Second},
		{time.Minute + time.Second, -2, -1}, // the key has expired
	} {
		check.NoError(t, server.Step(step.to))
		if left := rdb.PTTL(t.Context(), "k").Val(); left < step.from || left > step.below {
			t.Errorf("with the clock at %s a key of one minute has %s left", step.to, left)
		}
	}
}
