package generations

import (
	"fmt"

	"example.com/flashsale/loadtest/report"
	"example.com/flashsale/loadtest/verdict"
)

// page returns the page of results.
func page(results []Result) report.Report {
	matrix, verdicts := matrixOf(results)
	p := report.Report{
		Title: "Generations of a lock",
		Summary: fmt.Sprintf("%d faults were injected into %d implementations of a lock, %d times in all: the defective ones have to break, the others to hold.",
			len(results), len(matrix.Rows), len(verdicts)),
		Sections: []report.Section{{Title: "Which lock has which defect", Verdicts: verdicts, Table: matrix}},
	}
	for i, result := range results {
		p.Sections = append(p.Sections, result.section(i+1))
	}
	return p
}

// matrixOf returns a row for each implementation and a column for each defect.
func matrixOf(results []Result) (t report.Table, verdicts []verdict.Verdict) {
	var cells []report.Cell
	for i, result := range results {
		defect := fmt.Sprintf("%d. %s", i+1, result.Defect)
		for _, trial := range result.trials() {
			cells = append(cells, report.Cell{Row: trial.Generation, Column: defect, Text: string(trial.Verdict)})
			verdicts = append(verdicts, trial.Verdict)
		}
	}
	return report.Matrix("", cells), verdicts
}

func (r Result) section(number int) report.Section {
	s := report.Section{
		Title: fmt.Sprintf("%d. %s: %s", number, r.Defect, r.Fault),
		Table: report.Table{Header: []string{"implementation", "verdict", "seen"}, Text: true},
	}
	for _, t := range r.trials() {
		s.Judge(t.Verdict)
		s.Table.Add(t.Generation, t.Verdict, t.Seen)
		s.Charts = append(s.Charts, report.Lanes{Caption: fmt.Sprintf("%s, %s: %s", t.Generation, t.Verdict, t.Seen),
			Unit: "ms", Rows: t.Lanes})
	}
	return s
}
