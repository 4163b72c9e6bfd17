// Package linearizable checks that the sale of a coupon is linearizable: that each
// reply agrees with one order in which all claims and restocks happened, each
// between its request and its reply, whatever failed meanwhile. Two instances run
// with every commit strategy and three locks, and a seed chooses the faults. Two
// mutants of the service must be caught in every run.
package linearizable

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"

	"example.com/flashsale/loadtest/report"
	"example.com/flashsale/loadtest/rig"
	"example.com/flashsale/loadtest/verdict"
)

// twelve seeds have every strategy with every lock.
const twelve = 12

// Run runs the seeds that SEEDS names, 12 for the first twelve or 7-9 for three of
// them, and both mutants. It prints a table and writes
// out/linearizable/linearizable.json, with the histories that are not linearizable
// beside it.
func Run(ctx context.Context) error {
	first, last, err := seedsFrom(os.Getenv("SEEDS"))
	if err != nil {
		return err
	}
	return rig.With(func(s *rig.Stack) error { return runAll(ctx, s, first, last) })
}

func seedsFrom(setting string) (first, last uint64, err error) {
	if setting == "" {
		return 0, twelve - 1, nil
	}
	from, to, isRange := strings.Cut(setting, "-")
	if first, err = strconv.ParseUint(from, 10, 32); err == nil && !isRange {
		first, last = 0, first-1
	} else if err == nil {
		last, err = strconv.ParseUint(to, 10, 32)
	}
	if err != nil || last < first || last > math.MaxUint32 {
		return 0, 0, errors.New("SEEDS: want a number of seeds, such as 12, or a range, such as 7-9")
	}
	return first, last, nil
}

// A Row is one run.
type Row struct {
	variant
	Defect     string          `json:"defect,omitempty"` // of a mutant
	Faults     []string        `json:"faults"`
	Operations int             `json:"operations"`
	Placed     int             `json:"placed"`
	SoldOut    int             `json:"sold_out"`
	Unknown    int             `json:"unknown"`
	Violations []string        `json:"violations"`
	Verdict    verdict.Verdict `json:"verdict"`
}

func runAll(ctx context.Context, s *rig.Stack, first, last uint64) error {
	steps := rig.NewSteps(int(last-first) + 1 + len(mutants))
	var rows []Row
	var verdicts []verdict.Verdict
	add := func(v variant, defect string) error {
		steps.Next("seed %d, %s, lock %s, %s", v.Seed, v.Commit, v.Lock, v.Binary)
		row, err := runOne(ctx, s, v, defect)
		if err != nil {
			return fmt.Errorf("seed %d, %s: %w", v.Seed, v.Binary, err)
		}
		rows, verdicts = append(rows, row), append(verdicts, row.Verdict)
		return nil
	}
	for seed := first; seed <= last; seed++ {
		if err := add(variantOf(seed, "api"), ""); err != nil {
			return err
		}
	}
	dir, err := s.Dir("mutants")
	if err != nil {
		return err
	}
	for _, m := range mutants {
		if err := m.build(ctx, dir); err != nil {
			return err
		}
		if err := add(variantOf(0, m.name), m.defect); err != nil {
			return err
		}
	}
	runsTable(rows).Print()
	return s.Conclude(ctx, "linearizable", rows, verdict.AllPass(verdicts), func(e rig.Environment, pass bool) error {
		return report.Write("linearizable", report.Report{
			Title: "The sale, linearizable", Pass: pass, Environment: e,
			Summary:  "Each reply agrees with one order of all claims and restocks, whatever failed. The mutants must be caught.",
			Sections: []report.Section{{Title: "Runs", Verdicts: verdicts, Table: runsTable(rows)}},
		})
	})
}

// runOne runs one variant. A mutant must be caught.
func runOne(ctx context.Context, s *rig.Stack, v variant, defect string) (Row, error) {
	r, err := start(ctx, s, v)
	if err != nil {
		return Row{}, err
	}
	if err := r.play(ctx); err != nil {
		return Row{}, err
	}
	violations, err := r.judge(ctx)
	h := &r.history
	return Row{
		variant: v, Defect: defect, Faults: r.struck, Operations: len(h.operations),
		Placed: h.count(placed), SoldOut: h.count(soldOut), Unknown: h.count(unknown),
		Violations: violations, Verdict: verdict.Of(defect != "", len(violations) > 0, h.count(placed) > 0),
	}, err
}

// runsTable has a row for each run, with its faults and what was seen.
func runsTable(rows []Row) report.Table {
	t := report.Table{Header: []string{"seed", "commit", "lock", "operations", "placed", "sold out",
		"unknown", "verdict"}}
	for _, r := range rows {
		t.Add(r.Seed, r.Commit, r.Lock, r.Operations, r.Placed, r.SoldOut, r.Unknown,
			r.Verdict)
		t.Add(strings.Join(r.Faults, ", "))
		if r.Defect != "" {
			t.Add("mutant: " + r.Defect)
		}
		for _, v := range r.Violations {
			t.Add(v)
		}
	}
	return t
}
