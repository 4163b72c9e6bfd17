// Command bench measures the service, its theoretical bounds and the things it
// is compared to in one run, and writes out/bench/bench.json and
// out/bench/bench.md.
//
//	bench           all sections; BENCH=quick for fewer and shorter repetitions,
//	                SECTIONS=claims,growth,… for some of them
//	bench docs      docs/benchmarks.md, and docs/benchmarks.json if there is a new
//	                out/bench/bench.json
//	bench serve     one of the servers that the service is compared to
//
// Measurements that are compared alternate (A B C, A B C, …), so that a
// slowdown of the machine affects all of them. Run bench at the root of the
// repository, where make has built bin/. A missed target is reported and does
// not fail the run. A wrong reply or an order too many fails the run.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"example.com/flashsale/loadtest/rig"
)

var commands = map[string]func(context.Context) error{"docs": docs, "serve": serve}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	run := measure
	if len(os.Args) > 1 {
		run = commands[os.Args[1]]
	}
	if run == nil {
		fmt.Fprintln(os.Stderr, "usage: bench [docs | serve]")
		os.Exit(2)
	}
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// A bench is one run.
type bench struct {
	*rig.Stack
	Figures
	wrk *wrk

	self  string // path of this program, which also runs the servers of serve.go
	api   string // path of the service
	peers string // path of bench-peers

	repetitions   int           // of each measurement
	duration      time.Duration // of a measurement of claims
	shortDuration time.Duration // of a measurement where many are compared
	pairsDuration time.Duration // of a measurement of uncontended locks
	maxOrders     int           // size of the largest order table
	start         time.Time
}

const (
	defaultConns = 256       // connections of a load generator
	users        = 1_000_000 // users with a token
)

var sections = []struct {
	name string
	run  func(*bench, context.Context) error
}{
	{"claims", (*bench).claims},
	{"techniques", (*bench).techniques},
	{"locks", (*bench).lockSection},
	{"growth", (*bench).growth},
	{"profile", (*bench).profile},
}

func measure(ctx context.Context) error {
	root, err := os.Getwd()
	if err != nil {
		return err
	}
	bin := filepath.Join(root, "bin")
	b := &bench{
		self: filepath.Join(bin, "bench"), api: filepath.Join(bin, "api"), peers: filepath.Join(bin, "bench-peers"),
		repetitions: 5, duration: 3 * time.Second, shortDuration: 2 * time.Second, pairsDuration: 700 * time.Millisecond,
		maxOrders: 10_000_000, start: time.Now(),
	}
	if os.Getenv("BENCH") == "quick" {
		b.repetitions, b.maxOrders = 2, 1_000_000
		b.duration, b.shortDuration, b.pairsDuration = time.Second, time.Second, 300*time.Millisecond
	}
	if b.Stack, err = rig.Start(rig.LargeDatabase...); err != nil {
		return err
	}
	return errors.Join(b.run(ctx), b.Close())
}

// run runs the selected sections. A section that fails does not stop the next
// one, and what was measured is reported in any case.
func (b *bench) run(ctx context.Context) error {
	headers, err := b.Headers(users)
	if err != nil {
		return err
	}
	if b.wrk, err = newWrk(b.Stack, headers); err != nil {
		return err
	}
	selected := strings.FieldsFunc(os.Getenv("SECTIONS"), func(r rune) bool { return r == ',' })
	var errs []error
	for _, s := range sections {
		if ctx.Err() != nil || len(selected) > 0 && !slices.Contains(selected, s.name) {
			continue
		}
		if err := s.run(b, ctx); err != nil {
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
	for i := range b.repetitions {
		for _, m := range measurements {
			b.progress("%s, %d of %d", m.name, i+1, b.repetitions)
			if err := errors.Join(m.run(ctx), ctx.Err()); err != nil {
				return fmt.Errorf("%s: %w", m.name, err)
			}
		}
	}
	return nil
}

func (b *bench) progress(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "%6.0fs  %s\n", time.Since(b.start).Seconds(), fmt.Sprintf(format, args...))
}
