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
	"strconv"
	"strings"
	"time"

	"example.com/flashsale/internal/lab"
)

// thresholdsFailed is k6's exit status for a run that ended in order and failed
// a threshold. Controls have to fail some; the jobs judge by the data.
const thresholdsFailed = 99

// K6Report is the name of k6's own report, a web page. A single burst has none,
// because it is over before the report's curves begin.
const K6Report = "k6.html"

// RunK6 runs a script of loadtest/k6, which sends so many bursts, with the settings
// env. It leaves k6's samples in dir/points.json, whose name it returns, and K6Report
// beside it.
func RunK6(ctx context.Context, dir, script string, bursts int, env ...string) (samples string, err error) {
	path, err := Binary("k6")
	if err != nil {
		return "", err
	}
	if script, err = filepath.Abs(filepath.Join("loadtest", "k6", script)); err != nil {
		return "", err
	}
	samples = filepath.Join(dir, "points.json")
	args := []string{"run", "--quiet", "--no-color", "--no-usage-report", "--address", "localhost:0", "--out",
		"json=" + samples}
	if bursts > 1 {
		args = append(args, "--out", "web-dashboard=port=-1&period=250ms&export="+filepath.Join(dir, K6Report))
	}
	err = lab.Run(ctx, lab.Program{Name: "k6", Path: path, Dir: dir, Env: env, Args: append(args, script)})
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == thresholdsFailed {
		err = nil
	}
	return samples, err
}

// K6 is the Generator that runs the workload's script.
func K6(ctx context.Context, dir string, t Target, w Workload) (Burst, error) {
	settings := []string{
		"BASE_URL=" + t.URL, "ADMIN_TOKEN=" + t.Admin, "JWT_SECRET=" + t.Secret,
		"COUPONS=" + strings.Join(t.Coupons, ","), fmt.Sprintf("ROUNDS=%d", w.Rounds),
		fmt.Sprintf("LIMIT=%d", max(w.Limit, 1)),
		"SUMMARY=" + filepath.Join(dir, "summary.json"),
	}
	if t.Shop != nil {
		another, err := k6Shop(dir, t, w.Users)
		if err != nil {
			return Burst{}, err
		}
		defer os.Remove(filepath.Join(dir, k6Tokens))
		settings = append(settings, another...)
	}
	samples, err := RunK6(ctx, dir, w.Script+".js", w.Rounds, settings...)
	if err != nil {
		return Burst{}, err
	}
	var b Burst
	err = ReadSamples(samples, b.add)
	return b, err
}

// k6Tokens is a file of the users' tokens, which is removed after the run.
const k6Tokens = "tokens"

// k6Shop writes how to claim at another shop than this repository's service, and returns
// the settings that name it. No proxy is used.
func k6Shop(dir string, t Target, users int) ([]string, error) {
	tokens := make([]string, users)
	for i, u := range t.Users[:users] {
		tokens[i] = u.Token
	}
	file, list := filepath.Join(dir, "shop.json"), filepath.Join(dir, k6Tokens)
	err := errors.Join(WriteJSON(file, t.Shop.Scripted()),
		os.WriteFile(list, []byte(strings.Join(tokens, "\n")), 0o600))
	return []string{"SHOP=" + file, "TOKENS=" + list, "FIRST_USER=" + t.Users[0].ID, "JWT_SECRET=", "JWT_SECRET_FILE=",
		"HTTP_PROXY=", "HTTPS_PROXY=", "http_proxy=", "https_proxy="}, err
}

// A Sample is one line of k6's JSON output: a value of a metric. The time of a
// duration is that of its end.
type Sample struct {
	Metric string
	Type   string
	Data   struct {
		Time  time.Time
		Value float64
		Tags  map[string]string
	}
}

// Took returns the value of a metric that is a duration.
func (s Sample) Took() time.Duration { return time.Duration(s.Data.Value * float64(time.Millisecond)) }

// Claim returns when the request of a duration was sent and answered, and by which instance.
func (s Sample) Claim() Claim {
	return Claim{Sent: s.Data.Time.Add(-s.Took()), Received: s.Data.Time, Instance: s.Data.Tags["instance"]}
}

// ReadSamples calls add for each value in k6's JSON output.
func ReadSamples(path string, add func(Sample)) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var s Sample
		if err := json.Unmarshal(lines.Bytes(), &s); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if s.Type == "Point" {
			add(s)
		}
	}
	return lines.Err()
}

// userOf returns the id of a user that a load generator names, or 0.
func userOf(text string) int64 {
	id, _ := strconv.ParseInt(text, 10, 64) // 0 is no user
	return id
}

// add adds what s says of a claim. k6 stamps http_req_duration a moment before, so that
// times of the two are not comparable.
func (b *Burst) add(s Sample) {
	switch s.Metric {
	case "start_skew":
		b.Skews = append(b.Skews, s.Took())
	case "claim_wait":
		c, tags := s.Claim(), s.Data.Tags
		c.Verdict, c.Order, c.Detail, c.User = tags["verdict"], tags["order"], tags["detail"], userOf(tags["user"])
		b.Claims = append(b.Claims, c)
	}
}
