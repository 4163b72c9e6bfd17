package generations

import (
	"context"
	"errors"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"example.com/flashsale/internal/lab"
	"example.com/flashsale/loadtest/report"
	"example.com/flashsale/loadtest/verdict"
)

// A Trial is the outcome of one generation under one fault.
type Trial struct {
	Generation string `json:"generation"`
	Expect     string `json:"expect"` // break or hold
	outcome
	Verdict verdict.Verdict `json:"verdict"`
	Lanes   []report.Lane   `json:"lanes"` // what each process did, in milliseconds
}

// A Result is the outcome of an experiment.
type Result struct {
	Defect string  `json:"defect"`
	Fault  string  `json:"provocation"`
	Breaks []Trial `json:"breaks"`
	Holds  []Trial `json:"holds"`
}

// run injects the fault into each of e's generations, all at the same time. It
// returns an error if a trial could not be completed.
func (e experiment) run(ctx context.Context, l *lab.Lab) (Result, error) {
	trials := make([]Trial, len(e.breaks)+len(e.holds))
	var running errgroup.Group
	for i, g := range slices.Concat(e.breaks, e.holds) {
		running.Go(func() (err error) {
			trials[i], err = e.try(ctx, l, g, i < len(e.breaks))
			return err
		})
	}
	err := running.Wait()
	return Result{e.Defect, e.Fault, trials[:len(e.breaks)], trials[len(e.breaks):]}, err
}

// try injects the fault into g, which has to break or else to hold.
func (e experiment) try(ctx context.Context, l *lab.Lab, g generation, breaks bool) (Trial, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	s := &scenario{ctx: ctx, lab: l, generation: g}
	defer s.close()
	if err := s.startServers(); err != nil {
		return Trial{}, err
	}
	s.nextKey()
	t := Trial{Generation: g.Name, Expect: "hold", outcome: e.play(s)}
	if breaks {
		t.Expect = "break"
	}
	if s.struck != nil && s.struck.Err() == nil {
		s.check(errors.New("the fault has not struck"))
	}
	t.Verdict, t.Lanes = verdict.Of(breaks, t.Broke, true), s.lanes()
	return t, s.err
}

// trials returns those that break and then those that hold.
func (r Result) trials() []Trial { return slices.Concat(r.Breaks, r.Holds) }
