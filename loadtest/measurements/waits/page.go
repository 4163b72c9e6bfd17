package waits

import (
	"fmt"
	"slices"

	"example.com/flashsale/loadtest/report"
	"example.com/flashsale/loadtest/rig"
)

// writePage writes out/waits/report.html: the table, and charts for each length of
// the section.
func writePage(rows []Row, e rig.Environment, pass bool) error {
	page := report.Report{
		Title: "Waiting for a lock",
		Summary: fmt.Sprintf("%d clients contend for one lock for %g s, in each of the ways to wait, by the length of the "+
			"critical section. Whoever gives up comes again after as long as a section takes.", clients, duration.Seconds()),
		Pass: pass, Environment: e,
		Sections: []report.Section{{Title: "Summary", Table: table(rows)}},
	}
	for lengthRows := range slices.Chunk(rows, len(waiters)) {
		page.Sections = append(page.Sections, section(lengthRows))
	}
	return report.Write("waits", page)
}

// section returns the charts of rows, which are of one length of the section.
func section(rows []Row) report.Section {
	chart := func(caption, unit string, value func(Row) float64) report.Chart {
		bars := report.Bars{Caption: caption, Unit: unit}
		for _, r := range rows {
			v := value(r)
			bars.Bars = append(bars.Bars, report.Bar{Name: r.Waiter, Value: v, Low: v, High: v})
		}
		return bars
	}
	return report.Section{
		Title: fmt.Sprintf("A section of %g ms", rows[0].SectionMS),
		Charts: []report.Chart{
			chart("Requests to Redis for each hand-over", "requests", func(r Row) float64 { return r.Requests }),
			chart("CPU of Redis and the clients for each hand-over", "µs",
				func(r Row) float64 { return r.ServerCPU + r.ClientCPU }),
			chart("Wait for the lock, p99", "ms", func(r Row) float64 { return r.WaitP99 }),
			chart("Hand-overs", "hand-overs", func(r Row) float64 { return float64(r.HandOvers) }),
		},
	}
}
