// Command soak keeps a sale going for minutes while its parts are killed, and
// fails if a promise is broken: it starts a private stack with two instances
// behind nginx, lets a crowd of mixed users claim from coupons that open, sell
// out and are restocked, kills each instance, the database and Redis (which
// comes back empty) in turn, and audits the database throughout.
//
// SOAK says for how long (5m). It prints a table, writes out/soak/soak.json,
// and runs at the root of the repository, where make has built bin/api.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"example.com/flashsale/loadtest/rig"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	length := 5 * time.Minute
	if s := os.Getenv("SOAK"); s != "" {
		var err error
		if length, err = time.ParseDuration(s); err != nil || length < 20*time.Second {
			return errors.New("SOAK: want a duration of at least 20s, such as 5m")
		}
	}
	s, err := rig.Start()
	if err != nil {
		return err
	}
	return errors.Join(soak(ctx, s, length), s.Close())
}

func soak(ctx context.Context, s *rig.Stack, length time.Duration) error {
	binary, err := filepath.Abs(filepath.Join("bin", "api"))
	if err != nil {
		return err
	}
	sale, err := s.Sale(ctx)
	if err != nil {
		return err
	}
	pair, err := sale.Pair(binary)
	if err != nil {
		return err
	}
	w := newWorld(s, sale, pair, length)
	if err := w.run(ctx); err != nil {
		return err
	}
	return w.report(ctx)
}

// A world is the sale, those who want something of it, and what they know.
type world struct {
	stack  *rig.Stack
	sale   *rig.Sale
	pair   *rig.Pair
	client client
	begun  time.Time
	length time.Duration
	market market
	ledger ledger
	events events
	faults faults
}

func newWorld(s *rig.Stack, sale *rig.Sale, p *rig.Pair, length time.Duration) *world {
	return &world{
		stack: s, sale: sale, pair: p, client: newClient(p.Nginx.URL, s.Mint()),
		begun: time.Now(), length: length, ledger: newLedger(),
	}
}

// run is the soak: everything at once until the time is up, then a rest, then
// what is left is sold and all of it is counted.
func (w *world) run(ctx context.Context) error {
	during, cancel := context.WithTimeout(ctx, w.length)
	defer cancel()
	parts := []func(context.Context) error{w.trade, w.disturb, w.watch}
	for range crowd {
		parts = append(parts, w.shop)
	}
	errs := make([]error, len(parts))
	var wg sync.WaitGroup
	for i, part := range parts {
		wg.Go(func() {
			if errs[i] = part(during); errs[i] != nil {
				cancel() // one that cannot go on ends all
			}
		})
	}
	wg.Wait()
	if err := errors.Join(append(errs, ctx.Err())...); err != nil {
		return err
	}
	return w.settle(ctx)
}

// pause waits for d or until ctx ends, and says whether to go on.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

func (w *world) say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "%6.1fs  %s\n", time.Since(w.begun).Seconds(), fmt.Sprintf(format, args...))
}

// faults are the promises that were found broken. More than a few of a kind
// help nobody.
type faults struct {
	mu  sync.Mutex
	all []string
}

const mostFaults = 20

func (f *faults) add(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.all) < mostFaults {
		f.all = append(f.all, fmt.Sprintf(format, args...))
		fmt.Fprintln(os.Stderr, "BROKEN:", f.all[len(f.all)-1])
	}
}

func (f *faults) list() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]string{}, f.all...)
}
