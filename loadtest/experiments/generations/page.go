package generations

import (
	"fmt"

	"example.com/flashsale/loadtest/report"
	"example.com/flashsale/loadtest/rig"
)

// writePage writes out/generations/report.html.
func (r Report) writePage(e rig.Environment) error {
	page := report.Report{Title: "Generations of a lock", Pass: r.Pass, Environment: e}
	trials := 0
	for _, result := range r.Experiments {
		trials += len(result.Breaks) + len(result.Holds)
		page.Sections = append(page.Sections, result.section())
	}
	page.Summary = fmt.Sprintf("%d faults were injected into %d implementations of a lock: the defective ones have to break, the others to hold.",
		len(r.Experiments), trials)
	return report.Write("generations", page)
}

func (r Result) section() report.Section {
	s := report.Section{
		Title: r.Defect, Verdict: rig.Verdict(r.Pass, false), Text: "The fault: " + r.Fault + ".",
		Table: report.Table{Header: []string{"implementation", "has to", "did", "seen"}, Text: true},
	}
	for _, t := range append(append([]Trial{}, r.Breaks...), r.Holds...) {
		did := "hold"
		if t.Broke {
			did = "break"
		}
		s.Table.Rows = append(s.Table.Rows, []string{t.Generation, t.Expect, did, t.Seen})
		s.Charts = append(s.Charts, report.Lanes{Caption: t.Generation + " has to " + t.Expect + ": " + t.Seen,
			Unit: "ms", Rows: t.timeline})
	}
	return s
}
