package main

import (
	"context"
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.com/flashsale/loadtest/rig"
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
	claims, results := filepath.Join(dir, "claims.csv"), filepath.Join(dir, "results.csv")
	if err := writeClaims(claims, t, w); err != nil {
		return Burst{}, err
	}
	err := rig.JMeter(ctx, dir, "claim.jmx", results, t.URL, "claims="+claims,
		fmt.Sprintf("burst=%d", w.AtOnce()), fmt.Sprintf("rounds=%d", w.Rounds), "sample_variables=order,verdict,instance")
	if err != nil {
		return Burst{}, err
	}
	return readResults(results, w)
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
