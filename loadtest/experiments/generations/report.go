package generations

import (
	"fmt"
	"strings"

	"example.com/flashsale/loadtest/report"
	"example.com/flashsale/loadtest/rig"
)

// A Report holds the results of all experiments of one run.
type Report struct {
	Experiments []Result `json:"experiments"`
	Pass        bool     `json:"pass"`
}

func (r Report) print() {
	t := report.Table{Header: []string{"defect", "fault", "generation that breaks", "generation that holds"},
		Text: true}
	for _, e := range r.Experiments {
		t.Rows = append(t.Rows, []string{e.Defect, e.Fault, cell(e.Breaks), cell(e.Holds)})
	}
	t.Print()
	verdict := "as expected: every defective generation broke, every other one held"
	if !r.Pass {
		verdict = "NOT as expected: see the rows that say NO"
	}
	fmt.Println(verdict)
}

func cell(trials []Trial) string {
	var lines []string
	for _, t := range trials {
		lines = append(lines, fmt.Sprintf("%s: %s", t.Generation, rig.Verdict(t.Pass, t.Expect == "break")),
			"    "+t.Seen)
	}
	return strings.Join(lines, "\n")
}
