package pageview

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"example.com/flashsale/loadtest/rig"
	"example.com/flashsale/loadtest/stats"
)

// k6 sends the views with the script loadtest/k6/pview.js.
func (v *Views) k6(ctx context.Context, dir, url string) error {
	file := filepath.Join(dir, "summary.json")
	if _, err := rig.RunK6(ctx, dir, "pview.js", "BASE_URL="+url, "VERSION="+v.Version, "SUMMARY="+file); err != nil {
		return err
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var summary struct {
		Metrics map[string]struct {
			Values map[string]float64 `json:"values"`
		} `json:"metrics"`
	}
	if err := json.Unmarshal(b, &summary); err != nil {
		return err
	}
	value := func(metric, name string) float64 { return summary.Metrics[metric].Values[name] }
	v.Answered = int64(value("views{status:200}", "count"))
	v.OnA, v.OnB = int64(value("views{instance:a}", "count")), int64(value("views{instance:b}", "count"))
	v.WaitP50, v.WaitP99 = value("lock_wait", "med"), value("lock_wait", "p(99)")
	v.setPerSecond(time.Duration((value("answered", "max") - value("sent", "min")) * float64(time.Millisecond)))
	return nil
}

// jmeter sends the views with the plan loadtest/jmeter/pview.jmx.
func (v *Views) jmeter(ctx context.Context, dir, url string) error {
	rows, err := rig.RunJMeter(ctx, dir, "pview.jmx", url, "view", []string{"wait", "instance"},
		fmt.Sprintf("burst=%d", burstSize), "version="+v.Version)
	if err != nil {
		return err
	}
	return v.add(rows)
}

// add counts the replies with status 200.
func (v *Views) add(rows []rig.Row) error {
	var waits []float64
	var first, last time.Time
	for _, row := range rows {
		if row["responseCode"] != "200" {
			continue
		}
		s, err := row.Span()
		if err != nil {
			return err
		}
		wait, err := strconv.ParseFloat(row["wait"], 64)
		if err != nil {
			return err
		}
		if v.Answered == 0 || s.Sent.Before(first) {
			first = s.Sent
		}
		if s.Received.After(last) {
			last = s.Received
		}
		v.Answered, waits = v.Answered+1, append(waits, wait)
		switch row["instance"] {
		case "a":
			v.OnA++
		case "b":
			v.OnB++
		}
	}
	v.WaitP50, v.WaitP99 = stats.Quantile(waits, 0.5), stats.Quantile(waits, 0.99)
	v.setPerSecond(last.Sub(first))
	return nil
}

func (v *Views) setPerSecond(took time.Duration) {
	v.PerSecond = float64(v.Answered) / max(time.Millisecond, took).Seconds()
}
