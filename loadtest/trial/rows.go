package trial

import (
	"context"
	"fmt"

	"example.com/flashsale/loadtest/rig"
	"example.com/flashsale/loadtest/verdict"
)

// A Row is one row of an experiment's table: a trial and what it has shown.
type Row interface {
	fmt.Stringer // names it
	// Run runs the trial. What an earlier run has shown is forgotten.
	Run(ctx context.Context) (verdict.Verdict, error)
}

// Run runs rows in turn, each again while it is void or lucky, and returns those that
// were run to their end.
func Run[R Row](ctx context.Context, rows ...R) (done []R, err error) {
	steps := rig.NewSteps(len(rows))
	for _, r := range rows {
		steps.Next("%s", r)
		if err := verdict.Repeat(func() (verdict.Verdict, error) { return r.Run(ctx) }); err != nil {
			return done, fmt.Errorf("%s: %w", r, err)
		}
		done = append(done, r)
	}
	return done, nil
}
