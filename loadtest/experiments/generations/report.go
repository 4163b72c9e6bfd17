package generations

import (
	"fmt"
	"io"
	"strings"

	"example.com/flashsale/loadtest/rig"
)

// A Report holds the results of all experiments of one run.
type Report struct {
	Experiments []Result `json:"experiments"`
	Pass        bool     `json:"pass"`
}

// The widths of the table's columns.
var widths = []int{24, 28, 40, 40}

func (r Report) print(w io.Writer) {
	row(w, "DEFECT", "FAULT", "GENERATION THAT BREAKS", "GENERATION THAT HOLDS")
	for _, e := range r.Experiments {
		rule(w)
		row(w, e.Defect, e.Fault, cell(e.Breaks), cell(e.Holds))
	}
	rule(w)
	verdict := "as expected: every defective generation broke, every other one held"
	if !r.Pass {
		verdict = "NOT as expected: see the rows that say NO"
	}
	fmt.Fprintln(w, verdict)
}

func cell(trials []Trial) string {
	var lines []string
	for _, t := range trials {
		lines = append(lines, fmt.Sprintf("%-3s %s", rig.Mark(t.Pass), t.Generation), "    "+t.Seen)
	}
	return strings.Join(lines, "\n")
}

func rule(w io.Writer) {
	var parts []string
	for _, width := range widths {
		parts = append(parts, strings.Repeat("-", width))
	}
	fmt.Fprintln(w, strings.Join(parts, "-+-"))
}

// row prints cells side by side, each wrapped to its column's width.
func row(w io.Writer, cells ...string) {
	var columns [][]string
	height := 0
	for i, c := range cells {
		columns = append(columns, wrap(c, widths[i]))
		height = max(height, len(columns[i]))
	}
	for line := range height {
		var parts []string
		for i, c := range columns {
			text := ""
			if line < len(c) {
				text = c[line]
			}
			parts = append(parts, fmt.Sprintf("%-*s", widths[i], text))
		}
		fmt.Fprintln(w, strings.TrimRight(strings.Join(parts, " | "), " "))
	}
}

// wrap breaks text between words. A continuation has the indent of its line.
func wrap(text string, width int) (lines []string) {
	for line := range strings.SplitSeq(text, "\n") {
		words := strings.Fields(line)
		indent := line[:len(line)-len(strings.TrimLeft(line, " "))]
		current := indent
		for i, word := range words {
			if i > 0 && len(current)+1+len(word) > width {
				lines = append(lines, current)
				current = indent + word
				continue
			}
			if current != indent {
				current += " "
			}
			current += word
		}
		lines = append(lines, current)
	}
	return lines
}
