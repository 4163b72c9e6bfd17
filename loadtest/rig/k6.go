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
	"example.com/flashsale/loadtest/shop"
)

// thresholdsFailed is k6's exit status for a run that ended in order and failed
// a threshold. Controls have to fail some; the jobs judge by the data.
const thresholdsFailed = 99

// K6Report is the name of k6's own report, a web page. A single burst has none,
// because it is over before the report's curves begin.
const K6Report = "k6.html"

// RunK6 runs a script of loadtest/k6, which sends so many bursts, with the settings
// env. It leaves k6's samples in dir/points.json and K6Report beside it, and returns those
// of metric, which is the time that a request took.
func RunK6(ctx context.Context, dir, script, metric string, bursts int, env ...string) ([]Sample, error) {
	path, err := Binary("k6")
	if err != nil {
		return nil, err
	}
	if script, err = filepath.Abs(filepath.Join("loadtest", "k6", script)); err != nil {
		return nil, err
	}
	samples := filepath.Join(dir, "points.json")
	args := []string{"run", "--quiet", "--no-color", "--no-usage-report", "--address", "localhost:0", "--out",
		"json=" + samples}
	if bursts > 1 {
		args = append(args, "--out", "web-dashboard=port=-1&period=250ms&export="+filepath.Join(dir, K6Report))
	}
	err = lab.Run(ctx, lab.Program{Name: "k6", Path: path, Dir: dir, Env: env, Args: append(args, script)})
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == thresholdsFailed {
		err = nil
	}
	if err != nil {
		return nil, err
	}
	return readPoints(samples, metric)
}

// K6 is the Generator that runs the workload's script.
func K6(ctx context.Context, dir string, t Target, w Workload) (Burst, error) {
	settings := []string{
		"BASE_URL=" + t.URL, "JWT_SECRET=" + t.Secret,
		"COUPONS=" + strings.Join(t.Coupons, ","), fmt.Sprintf("ROUNDS=%d", w.Rounds),
		fmt.Sprintf("LIMIT=%d", max(w.Limit, 1)),
		"SUMMARY=" + filepath.Join(dir, "summary.json"),
	}
	read := readTags
	if t.Shop != nil {
		read = func(c *Claim, tags map[string]string) { c.readWhole(tags, t.Shop) }
		another, err := k6Shop(dir, t, w.Users)
		if err != nil {
			return Burst{}, err
		}
		defer os.Remove(filepath.Join(dir, k6Tokens))
		settings = append(settings, another...)
	}
	samples, err := RunK6(ctx, dir, w.Script+".js", claimMetric, w.Rounds, settings...)
	return burstOf(samples, read), err
}

// claimMetric is the time that a claim took. k6 stamps http_req_duration a moment before, so that
// times of the two are not comparable.
const claimMetric = "claim_wait"

// readTags sets what the script says of the reply.
func readTags(c *Claim, tags map[string]string) {
	c.Verdict, c.Order, c.Detail = tags["verdict"], tags["order"], tags["detail"]
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
	err := errors.Join(WriteJSON(file, map[string]shop.Request{"claim": t.Shop.Claim, "warm_up": t.Shop.WarmUp}),
		os.WriteFile(list, []byte(strings.Join(tokens, "\n")), 0o600))
	return []string{"SHOP=" + file, "TOKENS=" + list, "FIRST_USER=" + t.Users[0].ID, "JWT_SECRET=", "JWT_SECRET_FILE=",
		"HTTP_PROXY=", "HTTPS_PROXY=", "http_proxy=", "https_proxy="}, err
}

// readPoints reads the values of a metric from k6's JSON output, a line for each. The time of a
// duration is that of its end.
func readPoints(path, metric string) (samples []Sample, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 64<<20) // with a whole reply
	for lines.Scan() {
		var p struct {
			Metric, Type string
			Data         struct {
				Time  time.Time
				Value float64
				Tags  map[string]string
			}
		}
		if err := json.Unmarshal(lines.Bytes(), &p); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if p.Type == "Point" && p.Metric == metric {
			took := time.Duration(p.Data.Value * float64(time.Millisecond))
			c := Claim{Sent: p.Data.Time.Add(-took), Received: p.Data.Time, Instance: p.Data.Tags["instance"]}
			samples = append(samples, Sample{c, p.Data.Tags})
		}
	}
	return samples, lines.Err()
}
