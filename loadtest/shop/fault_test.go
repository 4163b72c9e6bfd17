package shop

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// strike runs a fault that writes what it does to a file, and returns the file.
func strike(t *testing.T, ctx context.Context, stop string, duration time.Duration) (file string, err error) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "did")
	did := func(what string) Text { return Text("echo " + what + " >>" + file) }
	f := Fault{Name: "it", Stop: did("stop") + Text(stop), Start: did("start"), For: duration}
	return file, f.Strike(ctx, 0)
}

func TestWhatAFaultStopsIsStartedAgain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		stop     string
		duration time.Duration
		timeout  time.Duration
		err      string
	}{
		"in time":             {"", time.Millisecond, time.Minute, ""},
		"when interrupted":    {"", time.Hour, time.Second, ""},
		"when the stop fails": {"; false", time.Hour, time.Minute, "fault it: echo stop"},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), c.timeout)
		file, err := strike(t, ctx, c.stop, c.duration)
		cancel()
		if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
			t.Errorf("%s: error %v, want %q", name, err, c.err)
		}
		if did, err := os.ReadFile(file); err != nil || string(did) != "stop\nstart\n" {
			t.Errorf("%s: %q, %v", name, did, err)
		}
	}
}

func TestInterruptedBeforeItsTimeAFaultTouchesNothing(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	f := Fault{Name: "it", Stop: "touch " + Text(filepath.Join(t.TempDir(), "did")), Start: "true", For: time.Hour}
	if err := f.Strike(ctx, time.Hour); err != nil {
		t.Error(err)
	}
	if files, _ := filepath.Glob(strings.TrimPrefix(string(f.Stop), "touch ")); len(files) > 0 {
		t.Errorf("%v", files)
	}
}
