package rig

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/flashsale/internal/check"
)

// samples are lines as k6 1.8 wrote them.
const samples = `{"type":"Metric","data":{"name":"claims","type":"counter"},"metric":"claims"}
{"metric":"http_req_duration","type":"Point","data":{"time":"2026-11-21T12:00:00.0997Z","value":99.8,"tags":{"name":"claim","status":"201"}}}
{"metric":"http_req_duration","type":"Point","data":{"time":"2026-11-21T12:00:00.1497Z","value":49.8,"tags":{"name":"claim","status":"409"}}}
{"metric":"http_req_duration","type":"Point","data":{"time":"2026-11-21T12:00:00.050Z","value":50,"tags":{"name":"warm-up","status":"200"}}}
{"metric":"claim_wait","type":"Point","data":{"time":"2026-11-21T12:00:00.100Z","value":100,"tags":{"verdict":"accepted","order":"77","instance":"a"}}}
{"metric":"claim_wait","type":"Point","data":{"time":"2026-11-21T12:00:00.150Z","value":50,"tags":{"verdict":"sold_out","instance":"b"}}}
`

func TestBurstIsReadFromSamples(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "points.json")
	check.NoError(t, os.WriteFile(file, []byte(samples), 0o644))
	read, err := readPoints(file, claimMetric)
	check.NoError(t, err)
	got := burstOf(read, readTags)
	at := func(ms int) time.Time { return time.Date(2026, 11, 21, 12, 0, 0, ms*1e6, time.UTC) }
	want := Burst{
		Claims: []Claim{{Sent: at(0), Received: at(100), Verdict: Accepted, Order: "77", Instance: "a"},
			{Sent: at(100), Received: at(150), Verdict: "sold_out", Instance: "b"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if n := got.MaxInFlight(); n != 1 {
		t.Errorf("in flight %d, want 1: a claim that is sent when another is answered does not overlap it", n)
	}
	if order, found := lastOrder(got.Claims); !found || order != want.Claims[0] {
		t.Errorf("the last order is that of %v, %v; want the first claim's", order, found)
	}
	if got.Latency(0.5) != 75*time.Millisecond || got.Latency(1) != 100*time.Millisecond ||
		got.Skew(2) != 100*time.Millisecond {
		t.Errorf("p50 %v, max %v, skew %v", got.Latency(0.5), got.Latency(1), got.Skew(2))
	}
}

func TestTruncatedSamplesAreAnError(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "points.json")
	check.NoError(t, os.WriteFile(file, []byte(samples[:len(samples)-20]), 0o644))
	if _, err := readPoints(file, claimMetric); err == nil {
		t.Error("a truncated file was read without an error")
	}
}

// A warm-up decides nothing, so that one that fails must not fail a run.
func TestThresholdsAreOfClaims(t *testing.T) {
	t.Parallel()
	script, err := os.ReadFile("../k6/lib/burst.js")
	check.NoError(t, err)
	for _, m := range regexp.MustCompile(`(?m)^\s*'?(http_req_\w+)(.*)$`).FindAllStringSubmatch(string(script), -1) {
		if !strings.HasPrefix(m[2], "{name:claim}'") {
			t.Errorf("the threshold %s counts other requests too: %s", m[1], m[2])
		}
	}
}
