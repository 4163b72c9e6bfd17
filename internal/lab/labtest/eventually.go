package labtest

import (
	"testing"
	"time"
)

// Eventually calls ok until it returns true. It fails the test if that takes
// more than a minute, which a busy machine does not need.
func Eventually(tb testing.TB, what string, ok func() bool) {
	tb.Helper()
	for deadline := time.Now().Add(time.Minute); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			tb.Fatalf("not within a minute: %s", what)
		}
	}
}
