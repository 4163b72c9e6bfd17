// Package generations compares the generations of a distributed lock. It
// contains the locks as the articles print them. On private real Redis servers
// it injects the fault that triggers each one's defect, deterministically, and
// injects the same fault into the generation that removes the defect.
//
// The package exports no lock, so that no other package can use a defective one.
package generations

import (
	"context"
	"errors"

	"example.com/flashsale/loadtest/rig"
)

// Run runs all experiments, prints one table and writes
// out/generations/generations.json. It returns nil only if everything expected
// to break broke and everything expected to hold held.
func Run(ctx context.Context) error {
	return rig.With(func(s *rig.Stack) error { return run(ctx, s) })
}

func run(ctx context.Context, s *rig.Stack) error {
	store, err := openFencedStore(ctx, s.MySQL)
	if err != nil {
		return err
	}
	defer store.db.Close()
	report, steps := Report{Pass: true}, rig.NewSteps(len(experiments))
	for _, e := range experiments {
		steps.Next("%s", e.Defect)
		result, err := e.run(ctx, s.Lab, store)
		if err != nil {
			return err
		}
		report.Experiments = append(report.Experiments, result)
		report.Pass = report.Pass && result.Pass
	}
	report.print()
	if err := rig.WriteJSON("out/generations/generations.json", report); err != nil {
		return err
	}
	environment, err := s.Environment(ctx)
	if err != nil {
		return err
	}
	return errors.Join(report.writePage(environment), rig.Proven(report.Pass))
}
