// Package soak runs a sale for minutes while its parts are killed, and fails if
// a promise is broken. Mixed users claim from coupons that open, sell out and are
// restocked. Each instance, the database and Redis (which comes back empty) are
// killed in turn. The database is audited throughout.
package soak

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"example.com/flashsale/loadtest/rig"
)

// Run runs the soak for as long as SOAK says (5m), prints a table and writes
// out/soak/soak.json.
func Run(ctx context.Context) error {
	d, err := durationFrom(os.Getenv("SOAK"))
	if err != nil {
		return err
	}
	return rig.With(func(s *rig.Stack) error { return soak(ctx, s, d) }, rig.LargeDatabase...)
}

func durationFrom(setting string) (time.Duration, error) {
	if setting == "" {
		return 5 * time.Minute, nil
	}
	d, err := time.ParseDuration(setting)
	if err != nil || d < 20*time.Second {
		return 0, errors.New("SOAK: want a duration of at least 20s, such as 5m")
	}
	return d, nil
}

func soak(ctx context.Context, s *rig.Stack, d time.Duration) error {
	sale, err := s.NewSale(ctx)
	if err != nil {
		return err
	}
	pair, err := sale.StartPair("api")
	if err != nil {
		return err
	}
	r := newRun(s, sale, pair, d)
	if err := r.run(ctx); err != nil {
		return err
	}
	return r.report(ctx)
}

// A run is one soak: the sale, its load and what was seen of it.
type run struct {
	stack      *rig.Stack
	sale       *rig.Sale
	pair       *rig.Pair
	client     client
	begin      time.Time
	duration   time.Duration
	log        func(format string, args ...any)
	coupons    coupons
	history    history
	outages    outages
	violations violations
}

func newRun(s *rig.Stack, sale *rig.Sale, p *rig.Pair, d time.Duration) *run {
	return &run{
		stack: s, sale: sale, pair: p, client: newClient(p.Nginx.URL, s.Signer()),
		begin: time.Now(), duration: d, log: rig.Progress(), history: newHistory(),
	}
}

// run runs all activities at once until the time is up, and then settle. An
// activity that fails ends the others.
func (r *run) run(ctx context.Context) error {
	during, cancel := context.WithTimeout(ctx, r.duration)
	defer cancel()
	activities := []func(context.Context) error{r.manageCoupons, r.killInTurn, r.auditAlways}
	for range userLoops {
		activities = append(activities, r.userLoop)
	}
	errs := make([]error, len(activities))
	var wg sync.WaitGroup
	for i, activity := range activities {
		wg.Go(func() {
			if errs[i] = activity(during); errs[i] != nil {
				cancel()
			}
		})
	}
	wg.Wait()
	if err := errors.Join(append(errs, ctx.Err())...); err != nil {
		return err
	}
	return r.settle(ctx)
}

// sleep waits for d and returns true, or returns false when ctx ends.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

// violations are the promises that were found broken. Only the first few are
// kept: the others rarely add anything.
type violations struct {
	mu   sync.Mutex
	list []string
}

const maxViolations = 20

func (v *violations) add(format string, args ...any) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.list) < maxViolations {
		v.list = append(v.list, fmt.Sprintf(format, args...))
		fmt.Fprintln(os.Stderr, "NO:", v.list[len(v.list)-1])
	}
}

func (v *violations) all() []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return append([]string{}, v.list...)
}
