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

// A bench is one run.
type bench struct {
	*rig.Stack
	Figures
	headers   rig.Headers // of all users
	users     rig.Users
	latencies map[string][]time.Duration // of all repetitions in the open model

	peers    string   // path of bench-peers
	peersEnv []string // the servers that it needs beside Redis

	repetitions   int           // of each measurement
	duration      time.Duration // of a measurement of claims
	shortDuration time.Duration // of a measurement where many are compared
	pairsDuration time.Duration // of a measurement of uncontended locks
	maxOrders     int           // size of the largest order table
	start         time.Time
	progress      func(format string, args ...any)
}

const (
	defaultConns = 256       // connections of a load generator
	users        = 1_000_000 // users with a token
)

// Run runs the sections that SECTIONS=claims,growth,… names, or all, prints the
// report and writes out/bench/bench.json and out/bench/bench.md. BENCH=quick
// makes fewer and shorter repetitions.
func Run(ctx context.Context) error {
	return rig.With(func(s *rig.Stack) error {
		b, err := newBench(s)
		if err != nil {
			return err
		}
		return b.run(ctx)
	}, rig.LargeDatabase...)
}

func newBench(s *rig.Stack) (*bench, error) {
	b := &bench{
		Stack: s, repetitions: 5, maxOrders: 10_000_000,
		duration: 3 * time.Second, shortDuration: 2 * time.Second, pairsDuration: 700 * time.Millisecond,
		latencies: map[string][]time.Duration{}, start: time.Now(), progress: rig.Progress(),
	}
	if quick() {
		b.repetitions, b.maxOrders = 2, 1_000_000
		b.duration, b.shortDuration, b.pairsDuration = time.Second, time.Second, 300*time.Millisecond
	}
	var err error
	if b.peers, err = rig.Binary("bench-peers"); err != nil {
		return nil, err
	}
	if b.headers, err = s.Headers(users); err != nil {
		return nil, err
	}
	b.users, err = b.headers.Open()
	return b, err
}

func quick() bool { return os.Getenv("BENCH") == "quick" }

// run runs the selected sections. A section that fails does not stop the next
// one, and what was measured is reported in any case.
func (b *bench) run(ctx context.Context) error {
	var errs []error
	for _, s := range sections {
		if ctx.Err() != nil || !s.selected() {
			continue
		}
		if err := s.measure(b, ctx); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", s.name, err))
		}
	}
	return errors.Join(append(errs, b.report(context.WithoutCancel(ctx)))...)
}

// A measurement is run once per repetition and adds to the figures.
type measurement struct {
	name string
	run  func(ctx context.Context) error
}

// interleave runs all measurements one after the other, and repeats that for
// each repetition.
func (b *bench) interleave(ctx context.Context, measurements []measurement) error {
	steps := rig.NewSteps(b.repetitions * len(measurements))
	for i := range b.repetitions {
		for _, m := range measurements {
			steps.Next("%s, repetition %d of %d", m.name, i+1, b.repetitions)
			if err := errors.Join(m.run(ctx), ctx.Err()); err != nil {
				return fmt.Errorf("%s: %w", m.name, err)
			}
		}
	}
	return nil
}
