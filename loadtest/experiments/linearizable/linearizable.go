// Package linearizable checks that the sale of a coupon is linearizable: that each
// reply agrees with one order in which all claims, restocks, uses, returns and expiries
// happened, each between its request and its reply, whatever failed meanwhile. Two
// instances run with every commit strategy and three locks, and a seed chooses the faults.
// Mutants of the service must be caught in every run.
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
	"example.com/flashsale/loadtest/trial"
	"example.com/flashsale/loadtest/verdict"
)

// twelve seeds have every strategy with every lock.
const twelve = 12

// Run runs the seeds that SEEDS names, 12 for the first twelve or 7-9 for three of
// them, and the mutants. It prints a table and writes
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

var locks = []string{"redis", "none", "zk"}

// A Row is one run. The seed chooses how the service is configured, and which faults strike.
type Row struct {
	Seed       uint64   `json:"seed"`
	Binary     string   `json:"binary"`
	Commit     string   `json:"commit"`
	Lock       string   `json:"lock"`
	Defect     string   `json:"defect,omitempty"` // of a mutant
	Faults     []string `json:"faults"`
	Operations int      `json:"operations"`
	Placed     int      `json:"placed"`
	SoldOut    int      `json:"sold_out"`
	Used       int      `json:"used"`
	Returned   int      `json:"returned"`
	Expired    int      `json:"expired"`
	Unknown    int      `json:"unknown"`
	trial.Judged

	stack *rig.Stack
}

// newRow returns the run of a seed. Twelve seeds in a row have every strategy with every lock.
func newRow(s *rig.Stack, seed uint64, binary string) *Row {
	commit := rig.Commits[seed%uint64(len(rig.Commits))]
	return &Row{Seed: seed, Binary: binary, Commit: commit, Lock: locks[seed%3], stack: s}
}

func (r *Row) String() string {
	return fmt.Sprintf("seed %d, %s, lock %s, %s", r.Seed, r.Commit, r.Lock, r.Binary)
}

// Run runs it. A mutant must be caught.
func (r *Row) Run(ctx context.Context) (verdict.Verdict, error) {
	s, err := start(ctx, r.stack, r)
	if err != nil {
		return "", err
	}
	if err := s.play(ctx, r.Seed); err != nil {
		return "", err
	}
	r.count(s.Operations())
	r.Faults = s.struck
	violations, err := s.judge(ctx, fmt.Sprintf("out/linearizable/%s-%d", r.Binary, r.Seed))
	r.Expired = s.expired
	return r.Judge(r.Defect != "", violations, r.Placed > 0 && r.Returned > 0 && r.Expired > 0), err
}

// count counts what the clients did and were told.
func (r *Row) count(all []trial.Operation) {
	done := map[trial.Kind]int{}
	for _, o := range all {
		switch {
		case o.Verdict == rig.Accepted:
			done[o.Kind]++
		case o.Verdict == "sold_out":
			r.SoldOut++
		case unknown(o):
			r.Unknown++
		}
	}
	r.Operations, r.Placed, r.Used, r.Returned = len(all), done[trial.Claim], done[trial.Use], done[trial.Return]
}

func runAll(ctx context.Context, s *rig.Stack, first, last uint64) error {
	var rows []*Row
	for seed := first; seed <= last; seed++ {
		rows = append(rows, newRow(s, seed, "api"))
	}
	dir, err := s.Dir("mutants")
	if err != nil {
		return err
	}
	for _, m := range mutants {
		if err := m.build(ctx, dir); err != nil {
			return err
		}
		r := newRow(s, 0, m.name)
		r.Defect = m.defect
		rows = append(rows, r)
	}
	if rows, err = trial.Run(ctx, rows...); err != nil {
		return err
	}
	return report.ConcludeRows(ctx, s, "linearizable", rows, report.Report{
		Title: "The sale, linearizable",
		Summary: "Each reply agrees with one order of all claims, restocks, uses, returns and expiries, whatever failed. " +
			"The mutants must be caught.",
		Sections: []report.Section{trial.Section("Runs", "", columns, rows, (*Row).notes)},
	})
}

var columns = report.Columns[*Row]{
	report.Main("seed", func(r *Row) uint64 { return r.Seed }),
	report.Main("commit", func(r *Row) string { return r.Commit }),
	report.Main("lock", func(r *Row) string { return r.Lock }),
	report.Main("operations", func(r *Row) int { return r.Operations }),
	report.Main("placed", func(r *Row) int { return r.Placed }),
	report.Main("sold out", func(r *Row) int { return r.SoldOut }),
	report.Detail("used", func(r *Row) int { return r.Used }),
	report.Detail("returned", func(r *Row) int { return r.Returned }),
	report.Detail("expired", func(r *Row) int { return r.Expired }),
	report.Main("unknown", func(r *Row) int { return r.Unknown }),
	report.Main("verdict", func(r *Row) verdict.Verdict { return r.Verdict }),
}

// notes are the faults, the defect and what was seen.
func (r *Row) notes() []string {
	notes := []string{strings.Join(r.Faults, ", ")}
	if r.Defect != "" {
		notes = append(notes, "mutant: "+r.Defect)
	}
	return append(notes, r.Violations...)
}
