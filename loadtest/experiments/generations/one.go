package generations

import (
	"context"
	"slices"

	"example.com/flashsale/loadtest/rig"
)

// A Defect is what one experiment is about.
type Defect struct {
	Defect      string   `json:"defect"`
	Fault       string   `json:"fault"`
	Generations []string `json:"generations"` // those that have to break come first
}

// Defects lists the experiments.
func Defects() (all []Defect) {
	for _, e := range experiments {
		d := Defect{Defect: e.Defect, Fault: e.Fault}
		for _, g := range slices.Concat(e.breaks, e.holds) {
			d.Generations = append(d.Generations, g.Name)
		}
		all = append(all, d)
	}
	return all
}

// RunDefect runs the n-th experiment of Defects on servers of its own, and its
// database on the MySQL of s. The trials are in the order of the generations.
func RunDefect(ctx context.Context, s *rig.Stack, n int) ([]Trial, error) {
	store, err := openWitness(ctx, s.MySQL)
	if err != nil {
		return nil, err
	}
	defer store.Close()
	result, err := experiments[n].run(ctx, s.Lab, store)
	return result.trials(), err
}
