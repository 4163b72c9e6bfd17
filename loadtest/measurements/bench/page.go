package bench

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"
	"text/template"
)

//go:embed page.tmpl
var pageTemplate string

// page renders bench.json as Markdown: the page docs/benchmarks.md. It uses
// nothing but the JSON, so that the page can be generated again later.
func page(benchJSON []byte) (string, error) {
	var r Report
	if err := json.Unmarshal(benchJSON, &r); err != nil {
		return "", err
	}
	t, err := template.New("page.tmpl").Parse(pageTemplate)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	err = t.Execute(&b, tables{r, figuresByName(r.Figures)})
	return strings.TrimRight(b.String(), "\n") + "\n", err
}

// tables are the parts of the page that consist of figures. Its methods are
// called by the template.
type tables struct {
	Report
	figures Figures
}

// A row is a line of a table: its label, and the name of its figures.
type row struct{ label, figure string }

// table returns a Markdown table. Cells of all columns but the first are
// aligned to the right.
func table(header []string, rows [][]string) string {
	var b strings.Builder
	line := func(cells []string) { fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | ")) }
	line(header)
	b.WriteString("|---|" + strings.Repeat("--:|", len(header)-1) + "\n")
	for _, cells := range rows {
		line(cells)
	}
	return b.String()
}

// spread formats the median of a figure with its lowest and highest value.
func (t tables) spread(name string) string {
	f := t.figures.byName[name]
	if f == nil {
		return notMeasured
	}
	return fmt.Sprintf("%s (%s–%s)", formatNumber(f.Median), formatNumber(f.Min), formatNumber(f.Max))
}

// value formats the median of a figure with its unit.
func (t tables) value(name string) string {
	f := t.figures.byName[name]
	if f == nil {
		return notMeasured
	}
	return formatNumber(f.Median) + " " + f.Unit
}

// number formats the median of a figure.
func (t tables) number(name string) string { return formatNumber(t.figures.Median(name)) }

// times formats the quotient of two medians.
func (t tables) times(name, divisor string) string {
	return formatNumber(t.figures.Ratio(name, divisor))
}
