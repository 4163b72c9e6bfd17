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

// A variant is how the service is configured in a run, and which faults strike.
// The seed chooses everything.
type variant struct {
	Seed   uint64 `json:"seed"`
	Binary string `json:"binary"`
	Commit string `json:"commit"`
	Lock   string `json:"lock"`
}

var locks = []string{"redis", "none", "zk"}

// variantOf returns the variant of a seed. Twelve seeds in a row have every strategy with
// every lock.
func variantOf(seed uint64, binary string) variant {
	return variant{seed, binary, rig.Commits[seed%uint64(len(rig.Commits))], locks[seed%3]}
}

// A Row is one run.
type Row struct {
	variant
	Defect     string          `json:"defect,omitempty"` // of a mutant
	Faults     []string        `json:"faults"`
	Operations int             `json:"operations"`
	Placed     int             `json:"placed"`
	SoldOut    int             `json:"sold_out"`
	Used       int             `json:"used"`
	Returned   int             `json:"returned"`
	Expired    int             `json:"expired"`
	Unknown    int             `json:"unknown"`
	Violations []string        `json:"violations"`
	Verdict    verdict.Verdict `json:"verdict"`

	stack *rig.Stack
}

func (r *Row) String() string {
	return fmt.Sprintf("seed %d, %s, lock %s, %s", r.Seed, r.Commit, r.Lock, r.Binary)
}

// Run runs the variant. A mutant must be caught.
func (r *Row) Run(ctx context.Context) (verdict.Verdict, error) {
	s, err := start(ctx, r.stack, r.variant)
	if err != nil {
		return "", err
	}
	if err := s.play(ctx, r.Seed); err != nil {
		return "", err
	}
	done := func(k kind) int {
		return s.history.count(func(o operation) bool { return o.Kind == k && o.Verdict == rig.Accepted })
	}
	r.Faults, r.Operations = s.struck, len(s.history.all)
	r.Placed, r.Used, r.Returned = done(claim), done(use), done(giveUp)
	r.SoldOut = s.history.count(func(o operation) bool { return o.Verdict == "sold_out" })
	r.Unknown = s.history.count(operation.unknown)
	r.Violations, err = s.judge(ctx, fmt.Sprintf("out/linearizable/%s-%d", r.Binary, r.Seed))
	r.Expired = s.expired
	r.Verdict = verdict.Of(r.Defect != "", len(r.Violations) > 0, r.Placed > 0 && r.Returned > 0 && r.Expired > 0)
	return r.Verdict, err
}

func runAll(ctx context.Context, s *rig.Stack, first, last uint64) error {
	var rows []*Row
	for seed := first; seed <= last; seed++ {
		rows = append(rows, &Row{variant: variantOf(seed, "api"), stack: s})
	}
	dir, err := s.Dir("mutants")
	if err != nil {
		return err
	}
	for _, m := range mutants {
		if err := m.build(ctx, dir); err != nil {
			return err
		}
		rows = append(rows, &Row{variant: variantOf(0, m.name), Defect: m.defect, stack: s})
	}
	if rows, err = trial.Run(ctx, rows...); err != nil {
		return err
	}
	runs := report.Section{Title: "Runs", Table: columns.Table(rows, (*Row).notes)}
	for _, r := range rows {
		runs.Judge(r.Verdict)
	}
	return report.ConcludeRows(ctx, s, "linearizable", rows, report.Report{
		Title: "The sale, linearizable",
		Summary: "Each reply agrees with one order of all claims, restocks, uses, returns and expiries, whatever failed. " +
			"The mutants must be caught.",
		Sections: []report.Section{runs},
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
