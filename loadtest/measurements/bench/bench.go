// Package bench measures the service, its theoretical bounds and the things it
// is compared to in one run.
//
// Measurements that are compared alternate (A B C, A B C, …), so that a
// slowdown of the machine affects all of them. A missed target is reported and
// does not fail the run. A wrong reply or an order too many fails the run.
package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"example.com/flashsale/loadtest/rig"
)

// A bench is one run: what its measurements share.
type bench struct {
	*rig.Stack
	scale
	Figures
	headers   rig.Headers                // of all users
	audited   int                        // acknowledged claims that were compared with the orders
	latencies map[string][]time.Duration // of all repetitions in the open model
	start     time.Time
	progress  func(format string, args ...any)
}

// A scale is how much a run measures.
type scale struct {
	repetitions   int           // of each measurement
	duration      time.Duration // of a measurement of claims
	shortDuration time.Duration // of a measurement where many are compared
	pairsDuration time.Duration // of a measurement of uncontended locks
	maxOrders     int           // size of the largest order table
}

var (
	full      = scale{5, 2500 * time.Millisecond, 1600 * time.Millisecond, 500 * time.Millisecond, 10_000_000}
	shortened = scale{2, time.Second, time.Second, 300 * time.Millisecond, 1_000_000}
)

const (
	defaultConns = 256       // connections of a load generator
	userCount    = 1_000_000 // users with a token
)

// Run runs the sections that SECTIONS=claims,growth,… names, or all, prints the
// report and writes out/bench/bench.json and out/bench/bench.md. BENCH=quick
// makes fewer and shorter repetitions.
func Run(ctx context.Context) error {
	if err := checkSections(os.Getenv("SECTIONS")); err != nil {
		return err
	}
	return with(ctx, (*bench).run)
}

// with runs a job on a stack of its own.
func with(ctx context.Context, job func(*bench, context.Context) error) error {
	quick, err := rig.Quick("BENCH")
	if err != nil {
		return err
	}
	return rig.With(func(s *rig.Stack) error {
		headers, err := s.Headers(userCount)
		if err != nil {
			return err
		}
		b := &bench{Stack: s, scale: full, headers: headers, latencies: map[string][]time.Duration{},
			start: time.Now(), progress: rig.Progress()}
		if quick {
			b.scale = shortened
		}
		return job(b, ctx)
	}, rig.LargeDatabase...)
}

// run runs the selected sections, and reports what was measured in any case.
func (b *bench) run(ctx context.Context) error {
	failures := b.runSections(ctx)
	return errors.Join(append(failures, b.report(context.WithoutCancel(ctx), failures))...)
}

// runSections runs the selected sections. One that fails does not stop the next one;
// the end of ctx does, and is a failure even if no section had begun.
func (b *bench) runSections(ctx context.Context) (failures []error) {
	for _, s := range sections {
		if ctx.Err() != nil || !s.selected() {
			continue
		}
		if err := b.measure(ctx, s.prepare); err != nil {
			failures = append(failures, fmt.Errorf("%s: %w", s.name, err))
		}
	}
	if ctx.Err() != nil {
		failures = append(failures, errors.New("interrupted: the figures are those of the repetitions before"))
	}
	return failures
}

// A measurement is run once per repetition and returns what it has measured.
type measurement struct {
	name string
	run  func(ctx context.Context) ([]measured, error)
}

// A measured is one value of a figure.
type measured struct {
	figure
	value float64
}

// turns are measurements that alternate.
type turns struct {
	repetitions  int
	measurements []measurement
}

// measure runs the measurements that prepare returns, turns after turns, and adds
// what they measure to the figures.
func (b *bench) measure(ctx context.Context, prepare func(context.Context, *bench) ([]turns, error)) error {
	all, err := prepare(ctx, b)
	if err != nil {
		return err
	}
	for _, t := range all {
		steps := rig.NewSteps(t.repetitions * len(t.measurements))
		for i := range t.repetitions {
			for _, m := range t.measurements {
				steps.Next("%s, repetition %d of %d", m.name, i+1, t.repetitions)
				values, err := m.run(ctx)
				if err := errors.Join(err, ctx.Err()); err != nil {
					return fmt.Errorf("%s: %w", m.name, err)
				}
				b.add(values...)
			}
		}
	}
	return nil
}
