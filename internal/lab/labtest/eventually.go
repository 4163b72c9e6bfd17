package labtest

import (
	"testing"
	"time"
)

// Eventually calls ok until it returns true. It fails the test if that takes
// more than 20 seconds.
func Eventually(tb testing.TB, what string, ok func() bool) {
	tb.Helper()
	for deadline := time.Now().Add(20 * time.Second); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			tb.Fatalf("not within 20 s: %s", what)
		}
	}
}
