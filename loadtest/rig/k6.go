package rig

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"example.com/flashsale/internal/lab"
)

// thresholdsFailed is k6's exit status for a run that ended in order and failed
// a threshold. Controls have to fail some; the jobs judge by the data.
const thresholdsFailed = 99

// K6Report is the name of k6's own report, a web page.
const K6Report = "k6.html"

// RunK6 runs a script of loadtest/k6 with the settings env. It leaves k6's
// samples in dir/points.json, whose name it returns, and K6Report beside it.
func RunK6(ctx context.Context, dir, script string, env ...string) (samples string, err error) {
	path, err := Binary("k6")
	if err != nil {
		return "", err
	}
	if script, err = filepath.Abs(filepath.Join("loadtest", "k6", script)); err != nil {
		return "", err
	}
	samples = filepath.Join(dir, "points.json")
	err = lab.Run(ctx, lab.Program{
		Name: "k6", Path: path, Dir: dir, Env: env,
		Args: []string{
			"run", "--quiet", "--no-color", "--no-usage-report", "--address", "localhost:0", "--out",
			"json=" + samples,
			"--out", "web-dashboard=port=-1&period=250ms&export=" + filepath.Join(dir, K6Report), script,
		},
	})
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == thresholdsFailed {
		err = nil
	}
	return samples, err
}

// K6 is the Generator that runs the workload's script.
func K6(ctx context.Context, dir string, t Target, w Workload) (Burst, error) {
	samples, err := RunK6(ctx, dir, w.Script+".js",
		"BASE_URL="+t.URL, "ADMIN_TOKEN="+t.Admin, "JWT_SECRET="+t.Secret, "TOKENS="+t.TokenFile,
		"COUPONS="+strings.Join(t.Coupons, ","), fmt.Sprintf("ROUNDS=%d", w.Rounds),
		"SUMMARY="+filepath.Join(dir, "summary.json"))
	if err != nil {
		return Burst{}, err
	}
	return readSamples(samples)
}

// A sample is one line of k6's JSON output.
type sample struct {
	Metric string
	Type   string
	Data   struct {
		Time  time.Time
		Value float64
		Tags  map[string]string
	}
}

// readSamples reads k6's JSON output.
func readSamples(path string) (Burst, error) {
	f, err := os.Open(path)
	if err != nil {
		return Burst{}, err
	}
	defer f.Close()
	var b Burst
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var s sample
		if err := json.Unmarshal(lines.Bytes(), &s); err != nil {
			return Burst{}, fmt.Errorf("%s: %w", path, err)
		}
		if s.Type == "Point" {
			b.add(s)
		}
	}
	return b, lines.Err()
}

// add adds what s says of a claim. The time of a duration is that of its end.
func (b *Burst) add(s sample) {
	took := time.Duration(s.Data.Value * float64(time.Millisecond))
	tags := s.Data.Tags
	switch {
	case s.Metric == "http_req_duration" && tags["name"] == "claim":
		b.Spans = append(b.Spans, Span{Sent: s.Data.Time.Add(-took), Received: s.Data.Time})
	case s.Metric == "start_skew":
		b.Skews = append(b.Skews, took)
	case s.Metric == "claim_wait":
		b.Claims = append(b.Claims, Claim{Sent: s.Data.Time.Add(-took), Received: s.Data.Time,
			Verdict: tags["verdict"], Order: tags["order"], Instance: tags["instance"]})
	}
}
