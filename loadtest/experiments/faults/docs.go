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
of 30 s, with 1,000 waiters and where faults strike at random while both holders take turns, there is one.
[How a holder is judged, and how to have your own lock judged](locks.md#have-your-own-lock-judged). How often each thing was
seen, for how long, and the time line of the worst trial are in ` + "`out/faults/report.html`" + `.

Ours have to keep their contract in every cell; three controls have to fail, or a clean row beside them would say nothing;
libraries of others are used as their documentation says, with their own defaults, and only measured. What a lease cannot
exclude is shown to happen: a server that forgets (killed and empty, failed over, keys deleted or evicted, clock stepped)
grants the lock again at once, and the holder learns of it from its next extension. A fence makes that harmless where the
resource checks it. A busy machine delays holders: what one trial of five shows may be the machine's.

## What was seen, in how many cells

%s
`

// markdown returns the page.
func (r Report) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, introduction, r.Trials, r.Lease, doubtfulTrials, r.counts().Markdown())
	for _, part := range []struct {
		title string
		kinds []kind
	}{{"Ours", []kind{ours}}, {"Others, and the controls", []kind{peer, control}}} {
		fmt.Fprintf(&b, "## %s\n\n%s\n", part.title, r.matrix(part.kinds...).Markdown())
	}
	e := r.Environment
	fmt.Fprintf(&b, "`–` does not apply. Measured %s at commit %.12s on %s, %d cores, %s", e.Time.Format("2006-01-02"),
		e.Commit, e.Machine.CPU, e.Machine.Cores, e.Machine.Mem)
	for _, name := range []string{"go", "redis", "etcd", "memcached"} {
		if v := e.Versions[name]; v != "" {
			fmt.Fprintf(&b, "; %s %s", name, v)
		}
	}
	return b.String() + ".\n"
}

// counts has a row for each finding, with the cells that showed it, and one for all.
func (r Report) counts() report.Table {
	t := report.Table{Header: []string{"", "seen", "ours", "others", "controls"}}
	add := func(letter, name string, is func(Cell) bool) {
		counts := map[kind]int{}
		for _, c := range r.Cells {
			if is(c) {
				counts[c.Kind]++
			}
		}
		t.Add(letter, name, counts[ours], counts[peer], counts[control])
	}
	for _, f := range possible {
		add(f.letter, f.name, func(c Cell) bool { return strings.Contains(c.seen().letters(), f.letter) })
	}
	add("", "nothing", func(c Cell) bool { return c.Absent == "" && len(c.seen()) == 0 })
	return t
}
