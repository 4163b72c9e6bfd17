// Package generations compares the generations of a distributed lock. It
// contains the locks as the articles print them. On private real servers it
// injects the fault that triggers each one's defect, deterministically, and
// injects the same fault into the generation that removes the defect.
//
// The package exports no lock, so that no other package can use a defective one.
package generations

import (
	"context"
	"errors"
	"path/filepath"

	"example.com/flashsale/loadtest/report"
	"example.com/flashsale/loadtest/rig"
	"example.com/flashsale/loadtest/verdict"
	"example.com/flashsale/loadtest/witness"
)

// Run runs all experiments, prints one table and writes
// out/generations/generations.json. It returns nil only if everything expected
// to break broke and everything expected to hold held.
func Run(ctx context.Context) error {
	return rig.With(func(s *rig.Stack) error { return run(ctx, s) })
}

func run(ctx context.Context, s *rig.Stack) error {
	store, err := witness.Open(ctx, s.MySQL)
	if err != nil {
		return err
	}
	defer store.Close()
	var all Report
	steps := rig.NewSteps(len(experiments))
	for _, e := range experiments {
		steps.Next("%s", e.Defect)
		result, err := e.run(ctx, s.Lab, store)
		if err != nil {
			return err
		}
		all.Experiments = append(all.Experiments, result)
	}
	_, verdicts := all.matrix()
	all.Pass = verdict.AllPass(verdicts)
	all.print()
	e, err := s.Environment(ctx)
	if err != nil {
		return err
	}
	rows := report.Rows{Environment: e, Rows: all.Experiments, Pass: all.Pass}
	return errors.Join(rig.WriteJSON(filepath.Join("out", "generations", "generations.json"), rows), all.writePage(e),
		rig.Proven(all.Pass))
}
