package faults

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"example.com/flashsale/loadtest/report"
	"example.com/flashsale/loadtest/verdict"
)

// page returns the page of a run that failed for so many reasons: what was seen in all
// cells, and the time line of the worst trial of each cell in which something was seen.
func (r Report) page(failed []string) report.Report {
	all, legend := r.matrix(ours, peer, control), ""
	for _, f := range possible {
		legend += fmt.Sprintf("%s %s, ", f.letter, f.name)
	}
	page := report.Report{
		Title: "Locks under faults", Pass: r.Pass, Environment: r.Environment,
		Summary: fmt.Sprintf("%d locks under %d faults, %d trials each and more where these differ, leases of %g s. "+
			"Ours have to keep their contract, the controls have to fail, the others are measured.",
			len(all.Header)-1, len(all.Rows), r.Trials, r.Lease),
		Sections: []report.Section{
			{Title: "What was seen in each cell", Text: legend + "and – does not apply.", Table: all},
			{Title: "What was seen", Table: r.table(), Problems: failed},
		},
	}
	for _, c := range r.Cells {
		if seen := c.seen(); len(seen) > 0 {
			page.Sections = append(page.Sections, c.section(seen))
		}
	}
	return page
}

// matrix has a row for each fault and a column for each lock of kinds. A cell in which nothing
// was seen is empty, as is one that an interrupted run did not reach.
func (r Report) matrix(kinds ...kind) report.Table {
	var cells []report.Cell
	for _, c := range r.Cells {
		if slices.Contains(kinds, c.Kind) {
			cells = append(cells, report.Cell{Row: c.Fault, Column: c.Lock, Text: c.letters()})
		}
	}
	return report.Matrix("fault", cells)
}

func (c Cell) letters() string {
	if c.Absent != "" {
		return "–"
	}
	return c.seen().letters()
}

func (c Cell) section(seen findings) report.Section {
	s := report.Section{
		Title: c.Lock + ": " + c.Fault, Verdicts: c.verdicts(),
		Text: fmt.Sprintf("%s. The lock is %s.", strings.Join(seen.texts(len(c.Trials)), "; "), c.Keeps),
	}
	if len(c.Breaches) > 0 && c.Kind == ours {
		s.Text += " Against its contract: " + strings.Join(c.Breaches, "; ") + "."
	}
	if c.worst != nil {
		s.Charts = append(s.Charts, report.Lanes{Caption: "the worst trial", Unit: "s", Rows: c.worst.lanes()})
	}
	return s
}

// verdicts is empty for a lock that is only measured.
func (c Cell) verdicts() []verdict.Verdict {
	if c.Kind != ours {
		return nil
	}
	return []verdict.Verdict{verdict.Of(false, len(c.Breaches) > 0, true)}
}

// lanes returns the time line of a trial.
func (t *trial) lanes() []report.Lane {
	fault := report.Lane{Name: "the fault"}
	for _, s := range t.seen.strikes {
		fault.Spans = append(fault.Spans,
			report.Span{Name: s.name, Kind: report.Fault, From: t.seconds(s.from), To: t.seconds(s.to)})
	}
	return []report.Lane{report.Holder("first holder", t.seen.a, t.seconds),
		report.Holder("second holder", t.seen.b, t.seconds), fault}
}

func (t *trial) seconds(at time.Duration) float64 { return (at - t.seen.begun).Seconds() }
