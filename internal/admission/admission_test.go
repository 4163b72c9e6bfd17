package admission

import (
	"context"
	"errors"
	"testing"
	"time"
)

// A client that has gone has not overloaded the service.
func TestOnlyADeadlineIsOverload(t *testing.T) {
	t.Parallel()
	ended := errors.New("ended")
	late, stop := context.WithTimeout(t.Context(), 0)
	defer stop()
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for ctx, want := range map[context.Context]bool{late: true, gone: false} {
		if err := WaitedInVain(ctx, ended); errors.Is(err, ErrOverloaded) != want || !errors.Is(err, ended) {
			t.Errorf("%v: %v, want it to be overloaded: %v", ctx.Err(), err, want)
		}
	}
}

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
