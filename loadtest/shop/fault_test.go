package shop

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A fault is started again whatever happens, but not before it was stopped.
func TestWhatAFaultStopsIsStartedAgain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		stop                     string
		after, duration, timeout time.Duration
		did, err                 string
	}{
		"in time":              {"", 0, time.Millisecond, time.Minute, "stop\nstart\n", ""},
		"when interrupted":     {"", 0, time.Hour, time.Second, "stop\nstart\n", ""},
		"when the stop fails":  {"; false", 0, time.Hour, time.Minute, "stop\nstart\n", "fault it: echo stop"},
		"interrupted long ago": {"", time.Hour, time.Hour, 0, "", ""},
	} {
		file := filepath.Join(t.TempDir(), "did")
		f := Fault{Name: "it", For: c.duration, Stop: Text("echo stop >>" + file + c.stop),
			Start: Text("echo start >>" + file)}
		ctx, cancel := context.WithTimeout(t.Context(), c.timeout)
		err := f.Strike(ctx, c.after)
		cancel()
		if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
			t.Errorf("%s: error %v, want %q", name, err, c.err)
		}
		if did, _ := os.ReadFile(file); string(did) != c.did {
			t.Errorf("%s: %q, want %q", name, did, c.did)
		}
	}
}
