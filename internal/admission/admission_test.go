package admission

import (
	"context"
	"testing"
	"time"
)

// A claim that waited for as long as it may has time left for its work, and its
// client gets the result before the server stops writing.
func TestSharesOfTheTimeoutFitIntoEachOther(t *testing.T) {
	t.Parallel()
	for _, d := range []time.Duration{100 * time.Millisecond, 3 * time.Second, time.Minute} {
		timeout := Timeout(d)
		shares := []time.Duration{0, timeout.Waits().Standing, timeout.Waits().Burst, timeout.Work(), d,
			timeout.Write()}
		for i, share := range shares[1:] {
			if share <= shares[i] {
				t.Errorf("%s: share %d is %s, not more than %s", d, i, share, shares[i])
			}
		}
	}
}

func TestArrivalIsThatOfTheLatestRequest(t *testing.T) {
	t.Parallel()
	first := time.Now().Add(-time.Minute).Truncate(time.Microsecond)
	var a Place
	a.Set(first)
	ctx := WithPlace(context.Background(), &a)
	if got := Arrived(ctx); !got.Equal(first) {
		t.Errorf("arrived at %s, want %s", got, first)
	}
	a.Set(first.Add(time.Second))
	if got := Arrived(ctx); !got.Equal(first.Add(time.Second)) {
		t.Errorf("the next request arrived at %s", got)
	}
	if age := time.Since(Arrived(context.Background())); age < 0 || age > time.Minute {
		t.Errorf("without a connection: %s ago", age)
	}
}
