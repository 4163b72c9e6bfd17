package admission

import (
	"testing"
	"time"
)

// A claim that waited for as long as it may has time left for its work, and its
// client gets the result before the server stops writing.
func TestSharesOfTheTimeoutFitIntoEachOther(t *testing.T) {
	t.Parallel()
	for _, d := range []time.Duration{100 * time.Millisecond, 3 * time.Second, time.Minute} {
		timeout := Timeout(d)
		shares := []time.Duration{0, timeout.Connect(), timeout.Work(), d, timeout.Write()}
		for i, share := range shares[1:] {
			if share <= shares[i] {
				t.Errorf("%s: share %d is %s, not more than %s", d, i, share, shares[i])
			}
		}
	}
}
