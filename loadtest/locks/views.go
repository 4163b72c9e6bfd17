package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/flashsale/internal/lab"
	"example.com/flashsale/internal/pageview"
	"example.com/flashsale/loadtest/rig"
)

const atOnce = 666

// Views is what became of 666 page views at once.
type Views struct {
	Shape     string  `json:"redis"`
	Sender    string  `json:"sender"` // k6 or jmeter
	Version   string  `json:"version"`
	Lock      string  `json:"lock"`
	Expect    string  `json:"expect"` // hold or break
	Counted   int64   `json:"counted"`
	Answered  int64   `json:"answered"` // with 200
	Lost      int64   `json:"lost"`     // answered with 200, and not counted
	PerSecond float64 `json:"per_second"`
	WaitP50   float64 `json:"wait_p50_ms"`
	WaitP99   float64 `json:"wait_p99_ms"`
	OnA       int64   `json:"on_a"`
	OnB       int64   `json:"on_b"`
	Pass      bool    `json:"pass"`
}

// judge says whether that is what had to happen.
func (v *Views) judge() {
	v.Lost = v.Answered - v.Counted
	exact := v.Counted == atOnce && v.Answered == atOnce
	v.Pass = v.OnA > 0 && v.OnB > 0 && (exact && v.Expect == "hold" || v.Lost > 0 && v.Expect == "break")
}

// summary is what loadtest/k6/pview.js leaves.
type summary struct {
	Metrics map[string]struct {
		Values map[string]float64 `json:"values"`
	} `json:"metrics"`
}

// view sends 666 views at once and counts what has arrived.
func view(ctx context.Context, s *rig.Stack, sender, shape, version, driver, expect string) (Views, error) {
	v := Views{Sender: sender, Shape: shape, Version: version, Lock: driver, Expect: expect}
	sv, err := start(ctx, s, shape, driver, "CLAIM_TIMEOUT=60s")
	if err != nil {
		return v, err
	}
	err = v.send(ctx, s, sv)
	return v, errors.Join(err, sv.Stop())
}

func (v *Views) send(ctx context.Context, s *rig.Stack, sv *Service) error {
	dir, err := s.Dir("pview")
	if err != nil {
		return err
	}
	by := v.k6
	if v.Sender == "jmeter" {
		by = v.jmeter
	}
	if err := by(ctx, dir, sv.Nginx.URL); err != nil {
		return err
	}
	v.Counted, err = sv.rdb.Get(ctx, pageview.Key).Int64()
	if err != nil && !errors.Is(err, redis.Nil) {
		return err
	}
	v.judge()
	return nil
}

// k6 sends the views by the script loadtest/k6/pview.js.
func (v *Views) k6(ctx context.Context, dir, target string) error {
	file := filepath.Join(dir, "summary.json")
	if err := k6(ctx, dir, "pview.js", "BASE_URL="+target, "VERSION="+v.Version, "SUMMARY="+file); err != nil {
		return err
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var seen summary
	if err := json.Unmarshal(b, &seen); err != nil {
		return err
	}
	of := func(metric, value string) float64 { return seen.Metrics[metric].Values[value] }
	v.Answered = int64(of("views{status:200}", "count"))
	v.OnA, v.OnB = int64(of("views{instance:a}", "count")), int64(of("views{instance:b}", "count"))
	v.WaitP50, v.WaitP99 = of("lock_wait", "med"), of("lock_wait", "p(99)")
	v.PerSecond = float64(v.Answered) / max(0.001, (of("answered", "max")-of("sent", "min"))/1000)
	return nil
}

// thresholdsFailed is how k6 ends a run that went to its end and failed a
// threshold, as every control has to.
const thresholdsFailed = 99

func k6(ctx context.Context, dir, script string, env ...string) error {
	path, err := binary("k6")
	if err != nil {
		return err
	}
	script, err = filepath.Abs(filepath.Join("loadtest", "k6", script))
	if err != nil {
		return err
	}
	args := []string{"run", "--quiet", "--no-color", "--no-usage-report", "--address", "localhost:0", "--out", "json=points.json", script}
	err = lab.Run(ctx, lab.Program{Name: "k6", Path: path, Dir: dir, Env: env, Args: args})
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == thresholdsFailed {
		return nil
	}
	return err
}

// drivers are the exclusive ones, of version 3.
var drivers = []string{"redis", "redisson", "redlock", "mysql", "getlock", "zk", "etcd", "memcache"}

func pageViews(ctx context.Context, s *rig.Stack) error {
	type trial struct{ sender, version, driver, expect string }
	trials := []trial{{"k6", "v1", "none", "break"}, {"k6", "v2", "local", "break"}}
	for _, driver := range drivers {
		trials = append(trials, trial{"k6", "v3", driver, "hold"})
	}
	trials = append(trials, trial{"k6", "v4", "redlock", "hold"},
		trial{"jmeter", "v1", "none", "break"}, trial{"jmeter", "v2", "local", "break"},
		trial{"jmeter", "v3", "redis", "hold"}, trial{"jmeter", "v4", "redlock", "hold"})
	var report struct {
		Views  []Views  `json:"views"`
		Pauses []Pauses `json:"pauses"`
	}
	pass := true
	fmt.Printf(viewRow, "sent by", "version", "lock", "counted", "lost", "views/s", "wait p50", "wait p99", "expected", "right")
	for _, t := range trials {
		v, err := view(ctx, s, t.sender, "single", t.version, t.driver, t.expect)
		if err != nil {
			return fmt.Errorf("%s %s: %w", t.version, t.driver, err)
		}
		v.print()
		report.Views = append(report.Views, v)
		pass = pass && v.Pass
	}
	fmt.Println("\nA holder is stopped (SIGSTOP) for longer than its lease, between reading and writing; meanwhile another counts.")
	fmt.Printf(pauseRow, "lock", "fence", "first", "others", "late write", "counted", "answered", "expected", "right")
	for _, driver := range pausing {
		p, err := pause(ctx, s, driver.name, driver.expect)
		if err != nil {
			return fmt.Errorf("pause %s: %w", driver.name, err)
		}
		p.print()
		report.Pauses = append(report.Pauses, p)
		pass = pass && p.Pass
	}
	return save(ctx, s, "pview", report, pass)
}

const viewRow = "%-8s %-8s %-10s %8s %6s %9s %10s %10s  %-8s %s\n"

func (v Views) print() {
	fmt.Printf(viewRow, v.Sender, v.Version, v.Lock, fmt.Sprint(v.Counted), fmt.Sprint(v.Lost), fmt.Sprintf("%.0f", v.PerSecond),
		ms(v.WaitP50), ms(v.WaitP99), v.Expect, yes(v.Pass))
}

func ms(v float64) string {
	return time.Duration(v * float64(time.Millisecond)).Round(100 * time.Microsecond).String()
}

func yes(ok bool) string {
	if ok {
		return "yes"
	}
	return "NO"
}
