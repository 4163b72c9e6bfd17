// Package pageview compares the locks by a counter that only a lock protects, unless
// one command increments it: 666 page views at once, under each lock driver, on two
// instances behind nginx. It also stops a holder for longer than its lease, which only
// a fence makes harmless.
package pageview

import (
	"context"
	"fmt"

	"example.com/flashsale/internal/lock/drivers"
	"example.com/flashsale/loadtest/report"
	"example.com/flashsale/loadtest/rig"
	"example.com/flashsale/loadtest/trial"
)

// Run runs all trials, prints two tables and writes out/pview/pview.json.
func Run(ctx context.Context) error {
	return rig.With(func(s *rig.Stack) error { return run(ctx, s) }, rig.LargeDatabase...)
}

func run(ctx context.Context, s *rig.Stack) error {
	var pauses []*Pauses
	for _, driver := range pausedDrivers {
		pauses = append(pauses, &Pauses{Lock: driver.name, Expect: driver.expect, stack: s})
	}
	views, err := trial.Run(ctx, On(s, trials())...)
	if err == nil {
		pauses, err = trial.Run(ctx, pauses...)
	}
	if err != nil {
		return err
	}
	return report.ConcludeRows(ctx, s, "pview", Rows{views, pauses}, report.Report{
		Title: "Page views under a lock",
		Summary: fmt.Sprintf("%d page views at once increment a counter that only a lock protects, on two instances behind nginx.",
			burstSize),
		Sections: []report.Section{Section(views), pausesSection(pauses)},
	})
}

// Rows are the results in pview.json.
type Rows struct {
	Views  []*Views  `json:"views"`
	Pauses []*Pauses `json:"pauses"`
}

// trials returns each driver under k6, and some of them again under JMeter.
func trials() []Trial {
	return append(Trials("single", "k6", drivers.Remote...), Trials("single", "jmeter", "redis")...)
}
