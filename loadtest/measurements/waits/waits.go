// Package waits measures what it costs to wait for a lock, by the length of the
// critical section: spinning, polling with pauses, waiting for a notification, and
// giving up.
package waits

import (
	"context"
	"fmt"
	"time"

	"example.com/flashsale/loadtest/report"
	"example.com/flashsale/loadtest/rig"
)

// clients contend for the lock. Each has connections of its own, as a process has.
const clients = 8

// duration is how long each row is measured.
const duration = 3 * time.Second

var sections = []time.Duration{0, time.Millisecond, 10 * time.Millisecond, 100 * time.Millisecond}

// A Row is one way to wait for sections of one length.
type Row struct {
	SectionMS float64 `json:"section_ms"`
	Waiter    string  `json:"waiter"`
	HandOvers int     `json:"hand_overs"`
	Refused   float64 `json:"refused_percent"` // of the attempts: those that gave up
	Busy      float64 `json:"busy_percent"`    // time inside the section
	Requests  float64 `json:"requests_per_hand_over"`
	ServerCPU float64 `json:"redis_cpu_us_per_hand_over"`
	ClientCPU float64 `json:"clients_cpu_us_per_hand_over"`
	WaitP50   float64 `json:"wait_p50_ms"`
	WaitP99   float64 `json:"wait_p99_ms"`
	Overlaps  int     `json:"overlaps"` // holders that met another one
	Pass      bool    `json:"pass"`
}

// Run prints a table and writes out/waits/waits.json and out/waits/report.html.
func Run(ctx context.Context) error {
	return rig.With(func(s *rig.Stack) error { return run(ctx, s) })
}

func run(ctx context.Context, s *rig.Stack) error {
	var rows []Row
	pass, steps := true, rig.NewSteps(len(sections)*len(waiters))
	for _, section := range sections {
		for _, w := range waiters {
			steps.Next("%s, section of %s", w.name, section)
			r, err := measure(ctx, s.Redis.URL, section, w)
			if err != nil {
				return fmt.Errorf("%s, section of %s: %w", w.name, section, err)
			}
			rows, pass = append(rows, r), pass && r.Pass
		}
	}
	table(rows).Print()
	return s.Conclude(ctx, "waits", rows, pass, func(e rig.Environment, pass bool) error {
		return writePage(rows, e, pass)
	})
}

func table(rows []Row) report.Table {
	t := report.Table{Header: []string{"section", "hand-overs", "gave up", "busy", "requests each", "Redis CPU, µs",
		"clients' CPU, µs", "wait p50, ms", "wait p99, ms"}}
	for _, r := range rows {
		t.Add(fmt.Sprintf("%g ms, %s", r.SectionMS, r.Waiter), r.HandOvers, fmt.Sprintf("%.0f%%", r.Refused),
			fmt.Sprintf("%.0f%%", r.Busy), report.Number(r.Requests), report.Number(r.ServerCPU),
			report.Number(r.ClientCPU), report.Number(r.WaitP50), report.Number(r.WaitP99))
	}
	return t
}
