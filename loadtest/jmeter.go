package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.com/flashsale/internal/lab"
)

// demoJMeter runs the one-user and many-users experiments with JMeter, or
// attacks BASE_URL if that is set.
func demoJMeter(ctx context.Context) error {
	if os.Getenv("BASE_URL") != "" {
		return attackAll(ctx, "jmeter", jmeter)
	}
	var some []Experiment
	for _, e := range experiments {
		if e.Script != sevenEach.Script && !e.Stale {
			some = append(some, e)
		}
	}
	return prove(ctx, "jmeter", jmeter, some)
}

// jmeter sends w's claims by the plan loadtest/jmeter/claim.jmx and leaves its
// files in dir.
func jmeter(ctx context.Context, dir string, t Target, w Workload) (Burst, error) {
	path, err := lab.Find("jmeter")
	if err != nil {
		return Burst{}, err
	}
	plan, err := filepath.Abs(filepath.Join("loadtest", "jmeter", "claim.jmx"))
	if err != nil {
		return Burst{}, err
	}
	at, err := url.Parse(t.URL)
	if err != nil {
		return Burst{}, err
	}
	claims, results := filepath.Join(dir, "claims.csv"), filepath.Join(dir, "results.csv")
	if err := writeClaims(claims, t, w); err != nil {
		return Burst{}, err
	}
	args := []string{"-n", "-t", plan, "-l", results, "-j", filepath.Join(dir, "run.log")}
	for _, property := range []string{
		"scheme=" + at.Scheme, "host=" + at.Hostname(), "port=" + at.Port(), "claims=" + claims,
		fmt.Sprintf("burst=%d", w.AtOnce()), fmt.Sprintf("rounds=%d", w.Rounds),
		"sample_variables=order,verdict,instance", "sampleresult.timestamp.start=true",
		"jmeter.save.saveservice.output_format=csv", "jmeter.save.saveservice.print_field_names=true",
		"jmeter.save.saveservice.timestamp_format=ms", "httpclient4.retrycount=0",
	} {
		args = append(args, "-J"+property)
	}
	env, err := mendDebian(ctx, path, dir)
	if err != nil {
		return Burst{}, err
	}
	if err := lab.Run(ctx, lab.Program{Name: "jmeter", Path: path, Args: args, Dir: dir, Env: env}); err != nil {
		return Burst{}, err
	}
	return readResults(results, w)
}

// mendDebian returns the settings under which Debian's JMeter can open a plan
// (see loadtest/jmeter/debian); any other needs none.
func mendDebian(ctx context.Context, jmeter, dir string) ([]string, error) {
	script, err := os.ReadFile(jmeter)
	if err != nil || !bytes.Contains(script, []byte("java-wrappers")) {
		return nil, err
	}
	sources, err := filepath.Glob(filepath.Join("loadtest", "jmeter", "debian", "*.java"))
	if err != nil {
		return nil, err
	}
	classes := filepath.Join(dir, "classes")
	compile := exec.CommandContext(ctx, "javac", append([]string{"-nowarn", "-d", classes}, sources...)...)
	if out, err := compile.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("javac: %w: %s", err, out)
	}
	return []string{"JAVA_ARGS=-Xbootclasspath/a:" + classes}, nil
}

// writeClaims writes a line for every claim, one round after the other: each
// thread takes its next line only when its round is over for everybody.
func writeClaims(file string, t Target, w Workload) error {
	tokens, err := t.tokens(w.Users)
	if err != nil {
		return err
	}
	var lines strings.Builder
	for _, coupon := range t.Coupons {
		for i := range w.AtOnce() {
			fmt.Fprintf(&lines, "%s,%s\n", tokens[i%w.Users], coupon)
		}
	}
	return os.WriteFile(file, []byte(lines.String()), 0o600)
}

// tokens are those of n users: from the file, or signed here.
func (t Target) tokens(n int) ([]string, error) {
	var given []string
	if t.Tokens != "" {
		b, err := os.ReadFile(t.Tokens)
		if err != nil {
			return nil, err
		}
		if given = strings.Fields(string(b)); len(given) < n {
			return nil, fmt.Errorf("%s: %d tokens, want %d", t.Tokens, len(given), n)
		}
		return given[:n], nil
	}
	for user := range n {
		signed, err := token(t.Secret, int64(user+1), false)
		if err != nil {
			return nil, err
		}
		given = append(given, signed)
	}
	return given, nil
}

// readResults reads JMeter's CSV, whose first line names the columns.
func readResults(file string, w Workload) (Burst, error) {
	f, err := os.Open(file)
	if err != nil {
		return Burst{}, err
	}
	defer f.Close()
	lines, err := csv.NewReader(f).ReadAll()
	if err != nil {
		return Burst{}, fmt.Errorf("%s: %w", file, err)
	}
	column := map[string]int{}
	for _, header := range lines[:min(1, len(lines))] {
		for i, name := range header {
			column[name] = i
		}
	}
	for _, name := range []string{"timeStamp", "elapsed", "label", "responseCode", "order", "verdict", "instance"} {
		if _, ok := column[name]; !ok {
			return Burst{}, fmt.Errorf("%s: no column %q", file, name)
		}
	}
	b := newBurst()
	for _, line := range lines[1:] {
		if get := func(name string) string { return line[column[name]] }; get("label") == "claim" {
			if err := b.addResult(get); err != nil {
				return Burst{}, fmt.Errorf("%s: %w", file, err)
			}
		}
	}
	b.Skews = skews(b.Spans, w.AtOnce())
	return b, nil
}

func (b *Burst) addResult(get func(column string) string) error {
	sent, err := strconv.ParseInt(get("timeStamp"), 10, 64)
	if err != nil {
		return err
	}
	took, err := strconv.ParseInt(get("elapsed"), 10, 64)
	if err != nil {
		return err
	}
	b.Spans = append(b.Spans, Span{Sent: time.UnixMilli(sent), Answered: time.UnixMilli(sent + took)})
	b.Instances[get("instance")]++
	switch get("responseCode") {
	case "201":
		b.Verdicts["accepted"]++
		b.Acked = append(b.Acked, get("order"))
	case "409":
		b.Verdicts[get("verdict")]++
	default:
		b.Verdicts["unexpected"]++
	}
	return nil
}

// skews are how long after its burst's first claim each one left; JMeter's
// timer names no moment, so the first to leave is it.
func skews(spans []Span, atOnce int) []time.Duration {
	sent := make([]time.Time, 0, len(spans))
	for _, s := range spans {
		sent = append(sent, s.Sent)
	}
	slices.SortFunc(sent, time.Time.Compare)
	var late []time.Duration
	for burst := range slices.Chunk(sent, atOnce) {
		for _, at := range burst {
			late = append(late, at.Sub(burst[0]))
		}
	}
	return late
}
