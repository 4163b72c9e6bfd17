package labtest

import (
	"testing"

	"example.com/flashsale/internal/check"
)

// Eventually is check.Eventually.
func Eventually(tb testing.TB, what string, ok func() bool) {
	tb.Helper()
	check.Eventually(tb, what, ok)
}
