// Package faults tries locks, ours and anybody's, under faults: a table of locks and
// faults, with what each lock did in each. A holder of a lock is a program of its
// own, in any language, that speaks the protocol of package holder.
package faults

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"example.com/flashsale/internal/lab"
	"example.com/flashsale/loadtest/rig"
)

// A Cell is a lock under a fault.
type Cell struct {
	Lock     string        `json:"lock"`
	Kind     kind          `json:"kind"`
	Keeps    string        `json:"keeps"`
	Fault    string        `json:"fault"`
	Absent   string        `json:"not_applicable,omitempty"`
	Trials   []Observation `json:"trials,omitempty"`
	Breaches []string      `json:"breaches,omitempty"` // of our contract, each with its trial

	worst *trial
}

// A Report is a run of the experiment.
type Report struct {
	Environment rig.Environment `json:"environment"`
	Trials      int             `json:"trials"` // in each cell
	Lease       float64         `json:"lease_s"`
	Cells       []Cell          `json:"cells"`
	Pass        bool            `json:"pass"`
}

// fullTrials is how many trials a cell has in a whole run, and doubtfulTrials how many it
// has if these differ.
const (
	fullTrials     = 5
	doubtfulTrials = 20
)

// parallel is how many locks are tried at a time. A trial mostly waits.
const parallel = 36

// Run tries each lock under each fault, prints the exceptions and writes
// out/faults/faults.json and out/faults/report.html. It returns nil only if ours kept
// their contract in each cell and each control failed.
//
// LOCK is the command of a holder to try instead, on the servers of BACKEND, and
// CHECK=1 only looks whether it keeps the protocol; CELL is one lock, or one cell as in
// redislock/reply-of-release-lost; FAULTS=quick has one trial in each cell instead of
// five. AT_RANDOM=10m is how long everything strikes at random; without CELL, nothing else
// is tried. SEED repeats what was random.
func Run(ctx context.Context) error {
	locks, faults, chosenErr := chosen(os.Getenv("LOCK"), os.Getenv("CELL"))
	faults, lastingErr := lasting(os.Getenv("AT_RANDOM"), faults)
	seed, seedErr := seedOf(os.Getenv("SEED"))
	quick, quickErr := rig.Quick("FAULTS")
	if err := cmp.Or(chosenErr, lastingErr, seedErr, quickErr); err != nil {
		return err
	}
	e := &experiment{rows: faults, trials: fullTrials, seed: seed, steps: rig.NewSteps(len(locks) * len(faults)),
		cells: make([][]Cell, len(locks))}
	if quick {
		e.trials = 1
	}
	_, outErr := rig.EmptyDir("out", "faults")
	logs, logsErr := rig.EmptyDir("out", "faults", "logs")
	l, labErr := rig.OpenLab()
	if err := errors.Join(outErr, logsErr, labErr); err != nil {
		return err
	}
	e.lab, e.logs = l, logs
	if os.Getenv("LOCK") != "" {
		if err := checkProtocol(ctx, l, locks[0], logs); err != nil || os.Getenv("CHECK") != "" {
			return errors.Join(err, l.Close())
		}
	}
	// A run that was interrupted proves nothing.
	err := errors.Join(e.run(ctx, locks), ctx.Err(), l.Close())
	return errors.Join(err, e.report(ctx, err == nil))
}

// An experiment is a run under way.
type experiment struct {
	lab    *lab.Lab
	logs   string // the directory for the holders' standard error
	rows   []row
	trials int
	seed   uint64
	cells  [][]Cell // of each column

	mu    sync.Mutex
	steps *rig.Steps
}

func (e *experiment) run(ctx context.Context, locks []column) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallel)
	for i, c := range locks {
		group.Go(func() (err error) {
			e.cells[i], err = e.column(ctx, c)
			return err
		})
	}
	return group.Wait()
}

// column tries a lock under each fault.
func (e *experiment) column(ctx context.Context, c column) (cells []Cell, err error) {
	s, err := c.open(ctx, e.lab, e.logs)
	if err != nil {
		return nil, err
	}
	defer s.close()
	for _, r := range e.rows {
		cell, err := e.cell(ctx, s, r)
		if err != nil {
			return cells, err
		}
		cells = append(cells, cell)
		e.mu.Lock()
		e.steps.Next("%s, %s", c.name, r.name)
		e.mu.Unlock()
	}
	return cells, nil
}

// cell tries a lock under a fault, several times.
func (e *experiment) cell(ctx context.Context, s *site, r row) (Cell, error) {
	cell := Cell{Lock: s.name, Kind: s.kind, Keeps: s.keeps, Fault: r.name, Absent: r.absent(s.column)}
	for i := 0; cell.Absent == "" && i < e.trialsOf(cell, r); i++ {
		s.trials++
		t := &trial{site: s, row: r, key: fmt.Sprintf("faults-%d", s.trials), seed: e.seed + uint64(i)}
		if err := t.run(ctx); err != nil {
			return cell, err
		}
		v := t.observe()
		broken := t.breaches(v)
		for _, what := range broken {
			cell.Breaches = append(cell.Breaches, fmt.Sprintf("trial %d: %s", i+1, what))
		}
		if cell.worst == nil || len(broken) > 0 || v.Two > 0 && cell.Trials[i-1].Two == 0 {
			cell.worst = t
		}
		cell.Trials = append(cell.Trials, v)
	}
	return cell, nil
}

// trialsOf returns how many trials a cell has: more if the first of a whole run differ.
func (e *experiment) trialsOf(c Cell, r row) int {
	switch {
	case r.trials != 0:
		return min(r.trials, e.trials)
	case e.trials == fullTrials && len(c.Trials) >= fullTrials && c.differs():
		return doubtfulTrials
	}
	return e.trials
}

// differs says that not all trials of c showed the same.
func (c Cell) differs() bool {
	letters := func(v Observation) string { return Cell{Trials: []Observation{v}}.seen().letters() }
	return slices.ContainsFunc(c.Trials, func(v Observation) bool { return letters(v) != letters(c.Trials[0]) })
}
