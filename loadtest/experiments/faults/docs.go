package faults

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"example.com/flashsale/loadtest/report"
)

// Docs writes docs/faults.md from out/faults/faults.json, if that is
// of a whole run, and does nothing if there is no such file.
func Docs(context.Context) error {
	text, err := os.ReadFile("out/faults/faults.json")
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	var r Report
	if err := errors.Join(err, json.Unmarshal(text, &r)); err != nil {
		return err
	}
	if !r.whole() {
		return errors.New("out/faults/faults.json is of a part or of a quick run: run make faults")
	}
	return os.WriteFile(filepath.Join("docs", "faults.md"), []byte(r.markdown()), 0o644)
}

// whole says that r has each lock that can be tried everywhere, under each fault.
func (r Report) whole() bool {
	missing := slices.ContainsFunc(columns, func(c column) bool {
		return !c.optional() && len(r.of(c.name)) < len(rows)
	})
	return !missing && r.Trials >= fullTrials
}

// of returns the cells of a lock.
func (r Report) of(lock string) []Cell {
	return slices.DeleteFunc(slices.Clone(r.Cells), func(c Cell) bool { return c.Lock != lock })
}

const introduction = `# Locks under faults

What locks do when a reply is lost, a server stops or a holder is paused: measured by ` + "`make faults`" + `, which wrote this
page. Each cell is %d trials of two holders, processes of their own behind proxies of their own, with leases of %g s:
the first acquires, the second waits, the fault strikes and is healed. Where these differ there are %d trials; with leases
of 30 s, with 1,000 waiters and where faults strike at random while both holders take turns, there is one. [How a holder is judged, and how
to have your own lock judged](locks.md#have-your-own-lock-judged).

Ours have to keep their contract in every cell; three controls have to fail, or a clean row beside them would say nothing;
libraries of others are used as their documentation says, with their own defaults, and only measured. What a lease cannot
exclude is shown to happen: a server that forgets (killed and empty, failed over, keys deleted
or evicted, clock stepped) grants the
lock again at once, and the holder learns of it from its next extension. A fence makes that harmless where the resource
checks it.

%s

`

// markdown returns the page.
func (r Report) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, introduction, r.Trials, r.Lease, doubtfulTrials, legend)
	for _, part := range []struct {
		title string
		kinds []kind
	}{{"Ours", []kind{ours}}, {"Others, and the controls", []kind{peer, control}}} {
		fmt.Fprintf(&b, "## %s\n\n%s\n", part.title, r.matrix(part.kinds).Markdown())
	}
	b.WriteString("`·` nothing, `–` does not apply.\n\n## What was seen\n\n")
	b.WriteString(r.table("; ").Markdown())
	e := r.Environment
	b.WriteString("\nA busy machine delays holders: what one trial of five shows may be the machine's.\n")
	fmt.Fprintf(&b, "\nMeasured %s at commit %.12s on %s, %d cores, %s", e.Time.Format("2006-01-02"), e.Commit,
		e.Machine.CPU, e.Machine.Cores, e.Machine.Mem)
	for _, name := range []string{"go", "redis", "etcd", "memcached"} {
		if v := e.Versions[name]; v != "" {
			fmt.Fprintf(&b, "; %s %s", name, v)
		}
	}
	return b.String() + ".\n"
}

// matrix has a row for each fault and a column for each lock of kinds.
func (r Report) matrix(kinds []kind) report.Table {
	var of []Cell
	for _, c := range r.Cells {
		if slices.Contains(kinds, c.Kind) {
			of = append(of, c)
		}
	}
	locks := names(of, func(c Cell) string { return c.Lock })
	t := report.Table{Header: append([]string{"fault"}, locks...)}
	for _, fault := range names(of, func(c Cell) string { return c.Fault }) {
		row := []string{fault}
		for _, c := range of {
			if c.Fault == fault {
				row = append(row, c.letters())
			}
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// letters returns what was seen in a cell, with a sign for nothing.
func (c Cell) letters() string {
	switch letters := c.seen().letters(); {
	case c.Absent != "":
		return "–"
	case letters == "":
		return "·"
	default:
		return letters
	}
}
