// Package pageview compares the locks by a counter that only a lock protects, unless
// one command increments it: 666 page views at once, under each lock driver, on two
// instances behind nginx. It also stops a holder for longer than its lease, which only
// a fence makes harmless.
package pageview

import (
	"context"
	"fmt"

	"example.com/flashsale/internal/lock/drivers"
	"example.com/flashsale/loadtest/rig"
	"example.com/flashsale/loadtest/verdict"
)

// Run runs all trials, prints two tables and writes out/pview/pview.json.
func Run(ctx context.Context) error {
	return rig.With(func(s *rig.Stack) error { return run(ctx, s) }, rig.LargeDatabase...)
}

func run(ctx context.Context, s *rig.Stack) error {
	steps := rig.NewSteps(len(trials()) + len(pausedDrivers))
	views, err := SendAll(ctx, s, steps, trials())
	if err != nil {
		return err
	}
	rows := Rows{Views: views}
	for _, driver := range pausedDrivers {
		steps.Next("pause of a holder, lock %s", driver.name)
		p, err := pause(ctx, s, driver.name, driver.expect)
		if err != nil {
			return fmt.Errorf("pause %s: %w", driver.name, err)
		}
		rows.Pauses = append(rows.Pauses, p)
	}
	Table(rows.Views).Print()
	fmt.Println("\nA holder is stopped (SIGSTOP) for longer than its lease, between reading and writing,\n" +
		"and the other instance counts meanwhile:")
	pausesTable(rows.Pauses).Print()
	return s.Conclude(ctx, "pview", rows,
		verdict.AllPass(append(Verdicts(views), pauseVerdicts(rows.Pauses)...)), rows.writePage)
}

// Rows are the results in pview.json.
type Rows struct {
	Views  []Views  `json:"views"`
	Pauses []Pauses `json:"pauses"`
}

// trials returns each driver under k6, and some of them again under JMeter.
func trials() []Trial {
	return append(Trials("single", "k6", drivers.Remote...), Trials("single", "jmeter", "redis")...)
}
