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

// checkSections returns an error if SECTIONS names what is no section.
func checkSections(setting string) error {
	var names []string
	for _, s := range sections {
		names = append(names, s.name)
	}
	for name := range strings.SplitSeq(setting, ",") {
		if setting != "" && !slices.Contains(names, name) {
			return fmt.Errorf("SECTIONS=%s: %q is none of %s", setting, name, strings.Join(names, ", "))
		}
	}
	return nil
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
	return func(all Figures) string { return inRange(all.samples(f).spread()) }
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

// times is the ratio of two figures within each repetition: the median, the lowest
// and the highest.
func times(f, divisor figure) cell {
	return func(all Figures) string { return inRange(ratio(f, divisor)(all).spread()) }
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
	value func(Figures) samples
	limit float64
	kind  limitKind
}

// ratio is the ratio of two figures.
func ratio(f, divisor figure) func(Figures) samples {
	return func(all Figures) samples { return all.samples(f).over(all.samples(divisor)) }
}

// of is a figure.
func of(f figure) func(Figures) samples {
	return func(all Figures) samples { return all.samples(f) }
}

// highest returns the highest value of each repetition, among those that are not
// void.
func highest(all ...samples) (highest samples) {
	for _, s := range all {
		for i, v := range s {
			if i == len(highest) {
				highest = append(highest, v)
			} else if math.IsNaN(highest[i]) || v > highest[i] {
				highest[i] = v
			}
		}
	}
	return highest
}

// overHighest is the ratio of a figure to the highest of others.
func overHighest(f figure, others []figure) func(Figures) samples {
	return func(all Figures) samples {
		var values []samples
		for _, other := range others {
			values = append(values, all.samples(other))
		}
		return all.samples(f).over(highest(values...))
	}
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
