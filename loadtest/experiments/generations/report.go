package generations

import (
	"fmt"
	"strings"

	"example.com/flashsale/loadtest/report"
)

// A Report holds the results of all experiments of one run.
type Report struct {
	Experiments []Result
	Pass        bool
}

func (r Report) print() {
	t := report.Table{Header: []string{"defect", "fault", "generation that breaks", "generation that holds"},
		Text: true}
	for _, e := range r.Experiments {
		t.Rows = append(t.Rows, []string{e.Defect, e.Fault, cell(e.Breaks), cell(e.Holds)})
	}
	t.Print()
}

func cell(trials []Trial) string {
	var lines []string
	for _, t := range trials {
		lines = append(lines, fmt.Sprintf("%s: %s", t.Generation, t.Verdict),
			"    "+t.Seen)
	}
	return strings.Join(lines, "\n")
}
