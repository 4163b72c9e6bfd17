package waits

import (
	"testing"
	"time"

	"example.com/flashsale/internal/lab"
	"example.com/flashsale/internal/lab/labtest"
)

func TestMain(m *testing.M) { labtest.Main(m, lab.RedisServer) }

// With a long section, who waits for a notification sends a few requests, and who
// spins sends as many as fit in.
func TestSpinningCostsMoreRequestsThanANotification(t *testing.T) {
	t.Parallel()
	url := labtest.Redis(t).URL
	requests := map[string]float64{}
	for _, w := range waiters {
		r, err := measure(t.Context(), url, 100*time.Millisecond, w)
		if err != nil || !r.Pass {
			t.Fatalf("%s: %v, %+v", w.name, err, r)
		}
		if (r.Refused > 0) != w.leaves {
			t.Errorf("%s: %.0f %% were refused", w.name, r.Refused)
		}
		requests[w.name] = r.Requests
	}
	if requests["spin"] < 10*requests["notification"] {
		t.Errorf("requests for each hand-over: %v", requests)
	}
}
