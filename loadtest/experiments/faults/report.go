package faults

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"example.com/flashsale/loadtest/report"
	"example.com/flashsale/loadtest/rig"
)

// report prints the exceptions and writes the files. A run that did not end proves
// nothing.
func (e *experiment) report(ctx context.Context, ended bool) error {
	environment, err := rig.ThisMachine(context.WithoutCancel(ctx))
	if err != nil {
		return err
	}
	cells := slices.Concat(e.cells...)
	failed := failures(cells)
	if !ended {
		failed = append(failed, "interrupted")
	}
	r := Report{Environment: environment, Trials: e.trials, Lease: leaseTime.Seconds(), Cells: cells,
		Pass: len(failed) == 0}
	return report.Conclude("faults", r, r.page(failed))
}

// failures returns what fails the run: a breach of our contract, and a control that
// held.
func failures(cells []Cell) (failed []string) {
	for _, c := range cells {
		if c.Kind == ours && len(c.Breaches) > 0 {
			failed = append(failed, fmt.Sprintf("%s, %s: %s", c.Lock, c.Fault, strings.Join(c.Breaches, "; ")))
		}
	}
	for _, c := range columns {
		tried := Report{Cells: cells}.of(c.name)
		if c.kind == control && len(tried) == len(rows) && !slices.ContainsFunc(tried, Cell.two) {
			failed = append(failed, c.name+" held under every fault, so that a zero beside another lock says nothing")
		}
	}
	return failed
}

// two says that two held at once.
func (c Cell) two() bool {
	return slices.ContainsFunc(c.Trials, func(v Observation) bool { return v.Two > 0 })
}

// table has a row for each cell in which something was seen.
func (r Report) table() report.Table {
	t := report.Table{Header: []string{"lock", "fault", "seen"}, Text: true}
	for _, c := range r.Cells {
		if seen := c.seen(); len(seen) > 0 {
			t.Add(c.Lock, c.Fault, strings.Join(seen.texts(len(c.Trials)), "\n"))
		}
	}
	return t
}
