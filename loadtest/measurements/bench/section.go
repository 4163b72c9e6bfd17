package bench

import (
	"context"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"

	"example.com/flashsale/loadtest/report"
)

// A section is one part of the benchmarks: what it measures, and which of the
// figures the page shows and which have a limit.
type section struct {
	name    string                                         // in SECTIONS
	prepare func(context.Context, *bench) ([]turns, error) // starts what is measured
	tables  []table
	limits  []limit
}

// selected reports whether SECTIONS names s, or nothing.
func (s section) selected() bool {
	names := os.Getenv("SECTIONS")
	return names == "" || slices.Contains(strings.Split(names, ","), s.name)
}

// sections are all sections in the order of their measurement.
var sections = []section{
	claims, techniques, locks, queues, growth, segments, overloads, profiles,
}

// A table is a table of the page, called name in page.tmpl.
type table struct {
	name   string
	header []string
	rows   []row
}

// A row is a line of a table: its label, and a cell for each other column.
type row struct {
	label string
	cells []cell
}

// A cell is the text of a table's cell.
type cell func(Figures) string

// spread is the median of a figure with its lowest and highest value.
func spread(f figure) cell {
	return func(all Figures) string {
		fig := all.find(f.name)
		if fig == nil {
			return report.NotMeasured
		}
		return fmt.Sprintf("%s (%s–%s)", report.Number(fig.Median), report.Number(fig.Min), report.Number(fig.Max))
	}
}

// value is the median of a figure with its unit.
func value(f figure) cell {
	return func(all Figures) string {
		if all.find(f.name) == nil {
			return report.NotMeasured
		}
		return report.Number(all.median(f)) + " " + f.unit
	}
}

// number is the median of a figure.
func number(f figure) cell {
	return func(all Figures) string { return report.Number(all.median(f)) }
}

// times is the ratio of two medians.
func times(f, divisor figure) cell {
	return func(all Figures) string { return report.Number(ratio(f, divisor)(all)) }
}

// words is a text that was not measured.
func words(text string) cell { return func(Figures) string { return text } }

// of returns the table with the figures of a run.
func (t table) of(figures Figures) report.Table {
	rendered := report.Table{Header: t.header}
	for _, r := range t.rows {
		cells := []string{r.label}
		for _, c := range r.cells {
			cells = append(cells, c(figures))
		}
		rendered.Rows = append(rendered.Rows, cells)
	}
	return rendered
}

// A limit is a target without its value.
type limit struct {
	name  string
	value func(Figures) float64
	limit float64
	kind  limitKind
}

// ratio is the ratio of two medians.
func ratio(f, divisor figure) func(Figures) float64 {
	return func(all Figures) float64 { return all.median(f) / all.median(divisor) }
}

// median is the median of a figure.
func median(f figure) func(Figures) float64 {
	return func(all Figures) float64 { return all.median(f) }
}

// highest is the highest of the medians of figures, or NaN if none was measured.
func highest(figures ...figure) func(Figures) float64 {
	return func(all Figures) float64 {
		highest := math.NaN()
		for _, f := range figures {
			if m := all.median(f); !(m <= highest) {
				highest = m
			}
		}
		return highest
	}
}

// overHighest is the ratio of a median to the highest of others.
func overHighest(f figure, others []figure) func(Figures) float64 {
	return func(all Figures) float64 { return all.median(f) / highest(others...)(all) }
}

// targets returns the limits of all sections with their values in figures.
func targets(figures Figures) (all []Target) {
	for _, s := range sections {
		for _, l := range s.limits {
			all = append(all, newTarget(l.name, l.value(figures), l.limit, l.kind))
		}
	}
	return all
}
