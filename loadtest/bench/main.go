// Command bench measures the service side by side with what bounds it and
// with what it is compared to, in one run, and writes out/bench/bench.json and
// out/bench/bench.md.
//
//	bench           all sections; BENCH=quick for fewer and shorter repetitions,
//	                SECTIONS=claims,losers,… for some
//	bench serve     one of the servers that it measures the service against
//
// Everything that is compared takes turns (A B C, A B C, …), so that a machine
// that becomes slower becomes so for all. It runs at the root of the
// repository, where make has built bin/. A bar that is missed is printed and
// fails nothing; an answer that was wrong, or an order too many, fails the run.
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

	"example.com/flashsale/loadtest/stack"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	run := measure
	if len(os.Args) > 1 && os.Args[1] == "serve" {
		run = serve
	}
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// A bench is one run.
type bench struct {
	*stack.Stack
	Figures
	wrk   *wrk
	self  string        // this program, which is also some of the servers
	api   string        // the service's
	locks string        // the one that knows the other locks
	reps  int           // of everything
	spell time.Duration // of one measurement of claims by a load generator
	less  time.Duration // of one where many are compared
	brief time.Duration // of one measurement of locks without contention
	most  int           // orders to grow the table to
	begun time.Time
}

const (
	crowd  = 256       // connections, where nothing else is said
	people = 1_000_000 // users with a token
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
		self: filepath.Join(bin, "bench"), api: filepath.Join(bin, "api"), locks: filepath.Join(bin, "bench-peers"),
		reps: 5, spell: 3 * time.Second, less: 2 * time.Second, brief: 700 * time.Millisecond, most: 10_000_000, begun: time.Now(),
	}
	if os.Getenv("BENCH") == "quick" {
		b.reps, b.most = 2, 1_000_000
		b.spell, b.less, b.brief = time.Second, time.Second, 300*time.Millisecond
	}
	if b.Stack, err = stack.Start(); err != nil {
		return err
	}
	return errors.Join(b.run(ctx), b.Close())
}

func (b *bench) run(ctx context.Context) error {
	headers, err := b.Headers(people)
	if err != nil {
		return err
	}
	if b.wrk, err = newWrk(b.Stack, headers); err != nil {
		return err
	}
	only := strings.FieldsFunc(os.Getenv("SECTIONS"), func(r rune) bool { return r == ',' })
	var errs []error
	for _, s := range sections {
		if ctx.Err() != nil || len(only) > 0 && !slices.Contains(only, s.name) {
			continue
		}
		if err := s.run(b, ctx); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", s.name, err))
		}
	}
	return errors.Join(append(errs, b.report(context.WithoutCancel(ctx)))...) // what was measured was measured
}

// A cell is one of several things that are measured in turn.
type cell struct {
	name string
	run  func(ctx context.Context) error
}

// turns measures every cell as often as the run repeats, one after the other.
func (b *bench) turns(ctx context.Context, cells []cell) error {
	for rep := range b.reps {
		for _, c := range cells {
			b.progress("%s, %d of %d", c.name, rep+1, b.reps)
			if err := errors.Join(c.run(ctx), ctx.Err()); err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
		}
	}
	return nil
}

func (b *bench) progress(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "%6.0fs  %s\n", time.Since(b.begun).Seconds(), fmt.Sprintf(format, args...))
}
