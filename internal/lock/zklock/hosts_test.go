package zklock

import (
	"context"
	"errors"
	"testing"
	"time"

	"example.com/flashsale/internal/check"
)

func TestServersAreLookedUpAgain(t *testing.T) {
	t.Parallel()
	addresses := map[string][]string{"a": {"10.0.0.1"}}
	h := &hosts{lookup: func(_ context.Context, host string) ([]string, error) {
		if found := addresses[host]; found != nil {
			return found, nil
		}
		return nil, errors.New("no such host")
	}}
	check.NoError(t, h.Init([]string{"a:1", "b:2"}))
	for _, want := range []string{"10.0.0.1:1", "b:2", "[::1]:1", "10.0.0.2:2"} {
		if got, wait := h.Next(); got != want || wait {
			t.Errorf("%s, want %s", got, want)
		}
		if want == "b:2" {
			addresses = map[string][]string{"a": {"::1"}, "b": {"10.0.0.2"}}
		}
	}
}

// A server may have no address yet.
func TestOpenWaitsForAName(t *testing.T) {
	t.Parallel()
	l, err := Open([]string{"none.invalid:2181"}, 4*time.Second)
	check.NoError(t, err)
	l.Close()
}
