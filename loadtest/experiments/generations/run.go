// Package generations compares the generations of a distributed lock. It
// contains the locks as the articles print them. On private real servers it
// injects the fault that triggers each one's defect, deterministically, and
// injects the same fault into the generation that removes the defect.
//
// The package exports no lock, so that no other package can use a defective one.
package generations

import (
	"context"

	"example.com/flashsale/loadtest/report"
	"example.com/flashsale/loadtest/rig"
)

// Run runs all experiments, prints a table of each and writes
// out/generations/generations.json and out/generations/report.html. It returns nil only if everything expected
// to break broke and everything expected to hold held.
func Run(ctx context.Context) error {
	return rig.With(func(s *rig.Stack) error { return run(ctx, s) })
}

func run(ctx context.Context, s *rig.Stack) error {
	var results []Result
	steps := rig.NewSteps(len(experiments))
	for _, e := range experiments {
		steps.Next("%s", e.Defect)
		result, err := e.run(ctx, s.Lab)
		if err != nil {
			return err
		}
		results = append(results, result)
	}
	return report.ConcludeRows(ctx, s, "generations", results, page(results))
}
