package faults

import (
	"fmt"
	"strings"
	"time"

	"example.com/flashsale/loadtest/holder"
	"example.com/flashsale/loadtest/report"
	"example.com/flashsale/loadtest/stats"
	"example.com/flashsale/loadtest/verdict"
)

// page returns the page of a run that failed for so many reasons: the heat map, and the
// time line of the worst trial of each cell in which something was seen.
func (r Report) page(failed []string) report.Report {
	grid, legend := r.grid(), ""
	for _, f := range possible {
		legend += fmt.Sprintf("%s %s, ", f.letter, f.name)
	}
	page := report.Report{
		Title: "Locks under faults", Pass: r.Pass, Environment: r.Environment,
		Summary: fmt.Sprintf("%d locks under %d faults, %d trials each and more where these differ, leases of %g s. "+
			"Ours have to keep their contract, the controls have to fail, the others are measured.",
			len(grid.Rows), len(grid.Columns), r.Trials, r.Lease),
		Sections: []report.Section{{
			Title: "What was seen", Text: legend + "and – does not apply. A cell leads to its worst trial.",
			Charts: []report.Chart{grid}, Table: r.table(), Problems: failed,
		}},
	}
	for _, c := range r.Cells {
		if seen := c.seen(); len(seen) > 0 {
			page.Sections = append(page.Sections, c.section(seen))
		}
	}
	return page
}

// grid has a row for each lock and a column for each fault, in their order in r. Of a run
// that was interrupted, rows end early.
func (r Report) grid() report.Grid {
	g := report.Grid{Caption: "lock × fault"}
	for i, c := range r.Cells {
		if i == 0 || r.Cells[i-1].Lock != c.Lock {
			g.Rows, g.Cells = append(g.Rows, c.Lock), append(g.Cells, nil)
		}
		last := &g.Cells[len(g.Rows)-1]
		if len(*last) == len(g.Columns) {
			g.Columns = append(g.Columns, c.Fault)
		}
		*last = append(*last, c.gridCell())
	}
	return g
}

func (c Cell) gridCell() report.GridCell {
	seen := c.seen()
	cell := report.GridCell{Shade: report.Notable, Text: seen.letters(),
		Title: strings.Join(seen.texts(len(c.Trials)), "; "), Link: c.id()}
	switch {
	case c.Absent != "":
		return report.GridCell{Shade: report.Absent, Text: "–", Title: "does not apply: " + c.Absent}
	case len(seen) == 0:
		return report.GridCell{Shade: report.Fine, Title: "nothing"}
	case seen[0].bad || c.Kind == ours && len(c.Breaches) > 0:
		cell.Shade = report.Bad
	}
	return cell
}

func (c Cell) id() string { return slug(c.Lock) + "--" + slug(c.Fault) }

func (c Cell) section(seen findings) report.Section {
	s := report.Section{
		Title: c.Lock + ": " + c.Fault, ID: c.id(), Verdicts: c.verdicts(),
		Text: fmt.Sprintf("%s. The lock is %s. Requests in a trial: %d in the median.",
			strings.Join(seen.texts(len(c.Trials)), "; "), c.Keeps, c.requests()),
	}
	if len(c.Breaches) > 0 && c.Kind == ours {
		s.Text += " Against its contract: " + strings.Join(c.Breaches, "; ") + "."
	}
	if c.worst != nil {
		s.Charts = append(s.Charts, report.Lanes{Caption: "the worst trial", Unit: "s", Rows: c.worst.lanes()})
	}
	return s
}

// requests returns the median of the trials.
func (c Cell) requests() int {
	var all []int
	for _, v := range c.Trials {
		all = append(all, v.Requests)
	}
	return stats.Quantile(all, 0.5)
}

// verdicts is empty for a lock that is only measured.
func (c Cell) verdicts() []verdict.Verdict {
	if c.Kind != ours {
		return nil
	}
	return []verdict.Verdict{verdict.Passed(len(c.Breaches) == 0, false)}
}

// lanes returns the time line of a trial.
func (t *trial) lanes() []report.Lane {
	fault := report.Lane{Name: "the fault"}
	for _, s := range t.seen.strikes {
		fault.Spans = append(fault.Spans,
			report.Span{Name: s.name, Kind: report.Fault, From: t.seconds(s.from), To: t.seconds(s.to)})
	}
	return []report.Lane{t.lane("first holder", t.seen.a), t.lane("second holder", t.seen.b), fault}
}

func (t *trial) lane(name string, lines []holder.Line) report.Lane {
	lane := report.Lane{Name: name}
	add := func(kind report.Kind, what string, from, to time.Duration) {
		lane.Spans = append(lane.Spans, report.Span{Name: what, Kind: kind, From: t.seconds(from), To: t.seconds(to)})
	}
	for _, h := range holds(lines) {
		add(report.Hold, "takes itself for the holder", h.from, h.to)
	}
	for _, l := range lines {
		if l.Word != holder.Write && l.Word != holder.Ready {
			add(report.Call, strings.TrimSpace(string(l.Word)+" "+l.Text), l.At, l.At)
		}
	}
	return lane
}

func (t *trial) seconds(at time.Duration) float64 { return (at - t.seen.begun).Seconds() }
