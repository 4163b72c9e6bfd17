package redlock

import (
	"testing"
	"testing/synctest"
	"time"
)

// A grant counts from before it was asked for, less what clocks may drift.
func TestValidityEndsBeforeTheTTL(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const ttl, drift = time.Second, 12 * time.Millisecond
		began := time.Now()
		time.Sleep(ttl - drift - time.Nanosecond)
		if !inTime(began, ttl) {
			t.Error("too late before its time")
		}
		time.Sleep(time.Nanosecond)
		if inTime(began, ttl) {
			t.Error("in time when a clock that is fast may have ended it")
		}
	})
}
