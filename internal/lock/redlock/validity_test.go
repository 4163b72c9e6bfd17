package redlock

import (
	"testing"
	"testing/synctest"
	"time"
)

// A lease is valid from before its request was sent, and for its ttl less the
// drift of the clocks.
func TestValidityEndsBeforeTheTTL(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const ttl, drift = time.Second, 12 * time.Millisecond
		start := time.Now()
		time.Sleep(ttl - drift - time.Nanosecond)
		if !isValid(start, ttl) {
			t.Error("invalid before the ttl less the drift is over")
		}
		time.Sleep(time.Nanosecond)
		if isValid(start, ttl) {
			t.Error("still valid when a fast clock may have ended the lease")
		}
	})
}
