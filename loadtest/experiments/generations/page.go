package generations

import (
	"fmt"

	"example.com/flashsale/loadtest/report"
)

// page returns the page of results. Its first section has a row for each implementation and a
// column for each defect.
func page(results []Result) report.Report {
	matrix, cells := report.Section{Title: "Which lock has which defect"}, []report.Cell(nil)
	var sections []report.Section
	for i, result := range results {
		defect := fmt.Sprintf("%d. %s", i+1, result.Defect)
		s := report.Section{Title: defect + ": " + result.Fault,
			Table: report.Table{Header: []string{"implementation", "verdict", "seen"}, Text: true}}
		for _, t := range result.trials() {
			s.Judge(t.Verdict)
			s.Table.Add(t.Generation, t.Verdict, t.Seen)
			caption := fmt.Sprintf("%s, %s: %s", t.Generation, t.Verdict, t.Seen)
			s.Charts = append(s.Charts, report.Lanes{Caption: caption, Unit: "ms", Rows: t.Lanes})
			cells = append(cells, report.Cell{Row: t.Generation, Column: defect, Text: string(t.Verdict)})
			matrix.Judge(t.Verdict)
		}
		sections = append(sections, s)
	}
	matrix.Table = report.Matrix("", cells)
	return report.Report{
		Title: "Generations of a lock",
		Summary: fmt.Sprintf("%d faults were injected into %d implementations of a lock, %d times in all: the defective ones have to break, the others to hold.",
			len(results), len(matrix.Table.Rows), len(cells)),
		Sections: append([]report.Section{matrix}, sections...),
	}
}
