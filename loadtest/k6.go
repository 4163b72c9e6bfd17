package main

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

// A Target is whom a load generator attacks, and as whom.
type Target struct {
	Service
	Coupons []string // one for each round
	Secret  string   // signs the users' tokens
	Tokens  string   // or a file of tokens, one in a line
}

// thresholdsFailed is how k6 ends a run that went to its end and failed a
// threshold. The rig judges for itself: a control has to fail some.
const thresholdsFailed = 99

// k6 sends w's claims and leaves its files in dir.
func k6(ctx context.Context, dir string, t Target, w Workload) (Burst, error) {
	root, err := os.Getwd()
	if err != nil {
		return Burst{}, err
	}
	points := filepath.Join(dir, "points.json")
	env := []string{
		"BASE_URL=" + t.URL, "ADMIN_TOKEN=" + t.Admin, "JWT_SECRET=" + t.Secret, "TOKENS=" + t.Tokens,
		"COUPONS=" + strings.Join(t.Coupons, ","), fmt.Sprintf("ROUNDS=%d", w.Rounds),
		"SUMMARY=" + filepath.Join(dir, "summary.json"),
	}
	err = lab.Run(ctx, lab.Program{
		Name: "k6", Path: filepath.Join(root, "bin", "k6"), Dir: dir,
		Args: []string{
			"run", "--quiet", "--no-color", "--no-usage-report", "--address", "localhost:0",
			"--out", "json=" + points, filepath.Join(root, "loadtest", "k6", w.Script+".js"),
		},
		Env: env,
	})
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == thresholdsFailed {
		err = nil
	}
	if err != nil {
		return Burst{}, err
	}
	return readPoints(points)
}

// A point is one line of k6's JSON output.
type point struct {
	Metric string
	Type   string
	Data   struct {
		Time  time.Time
		Value float64
		Tags  map[string]string
	}
}

// readPoints reads k6's JSON output. A duration's time is that of its end.
func readPoints(path string) (Burst, error) {
	f, err := os.Open(path)
	if err != nil {
		return Burst{}, err
	}
	defer f.Close()
	b := newBurst()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var p point
		if err := json.Unmarshal(lines.Bytes(), &p); err != nil {
			return Burst{}, fmt.Errorf("%s: %w", path, err)
		}
		if p.Type == "Point" {
			b.add(p)
		}
	}
	return b, lines.Err()
}

func (b *Burst) add(p point) {
	took := time.Duration(p.Data.Value * float64(time.Millisecond))
	tags := p.Data.Tags
	switch {
	case p.Metric == "http_req_duration" && tags["name"] == "claim":
		b.Spans = append(b.Spans, Span{Sent: p.Data.Time.Add(-took), Answered: p.Data.Time})
	case p.Metric == "start_skew":
		b.Skews = append(b.Skews, took)
	case p.Metric == "claims":
		b.Verdicts[tags["verdict"]]++
		b.Instances[tags["instance"]]++
		if tags["verdict"] == "accepted" {
			b.Acked = append(b.Acked, tags["order"])
		}
	}
}
