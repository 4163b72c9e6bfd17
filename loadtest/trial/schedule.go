package trial

import (
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"example.com/flashsale/loadtest/fault"
	"example.com/flashsale/loadtest/rig"
)

// A Schedule says which faults strike a sale, one after the other, and when.
type Schedule struct {
	Faults []fault.Fault
	Rest   time.Duration // before each fault, and after the last
	// For is how long the trial lasts. Until then the faults strike again and again,
	// each that is over before. 0: each strikes once, which ends the trial.
	For   time.Duration
	Spare time.Duration // how long before the end of For a fault must have lasted
	// Loaded says that the trial ends with its loads, which end by themselves.
	Loaded bool
	// Recovered waits until the sale goes on after a fault has healed. It may be nil.
	Recovered func(context.Context, Strike) error
}

// A Strike is a fault that has struck.
type Strike struct {
	fault.Fault
	Span // from the fault to its healing
}

// A Course is when a trial ran, and what struck.
type Course struct {
	Span
	Strikes []Strike
}

// Load is what clients do to a sale until ctx ends.
type Load func(ctx context.Context) error

// Clients is a load of n clients at once, each of which does the same.
func Clients(n int, do func(ctx context.Context, client int)) Load {
	return func(ctx context.Context) error {
		var all sync.WaitGroup
		for i := range n {
			all.Go(func() { do(ctx, i) })
		}
		all.Wait()
		return nil
	}
}

// Run puts the loads on a sale while the faults strike it, and returns when all loads
// have ended. A load that fails ends the trial.
func (s Schedule) Run(ctx context.Context, loads ...Load) (c Course, err error) {
	during, end := context.WithCancel(ctx)
	if s.For > 0 {
		during, end = context.WithTimeout(ctx, s.For)
	}
	defer end()
	c.Begin = time.Now()
	all, loading := errgroup.WithContext(during)
	for _, l := range loads {
		all.Go(func() error { return l(loading) })
	}
	struck := make(chan error, 1)
	go func() {
		err := s.strike(loading, &c)
		if c.End = time.Now(); !s.Loaded || err != nil {
			end()
		}
		struck <- err
	}()
	err = all.Wait()
	return c, errors.Join(err, <-struck, ctx.Err())
}

// strike injects the faults.
func (s Schedule) strike(ctx context.Context, c *Course) error {
	for i := 0; len(s.Faults) > 0 && (i < len(s.Faults) || s.For > 0) && rig.Sleep(ctx, s.Rest); i++ {
		one := Strike{Fault: s.Faults[i%len(s.Faults)]}
		if s.For > 0 && time.Since(c.Begin)+one.Lasts+s.Spare > s.For {
			continue
		}
		var err error
		if one.Begin, one.End, err = one.Inject(ctx); err != nil {
			return err
		}
		c.Strikes = append(c.Strikes, one)
		if s.Recovered != nil {
			if err := s.Recovered(ctx, one); err != nil {
				return err
			}
		}
	}
	rig.Sleep(ctx, s.Rest)
	return nil
}
