package bench

import (
	_ "embed"
	"regexp"
	"strings"
	"text/template"

	"example.com/flashsale/loadtest/report"
)

//go:embed page.tmpl
var pageTemplate string

// page returns docs/benchmarks.md.
func (r *Run) page() (string, error) {
	t, err := template.New("page.tmpl").Funcs(template.FuncMap{
		"headlines": func() string { return headlineTable(r).Markdown() }, "table": r.table,
	}).Parse(pageTemplate)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	err = t.Execute(&b, r)
	return b.String(), err
}

// table has a row for each benchmark whose name matches, and a column for each unit.
func (r *Run) table(pattern string, units ...string) (string, error) {
	names, err := regexp.Compile("^" + pattern + "$")
	if err != nil {
		return "", err
	}
	t := report.Table{Header: append([]string{""}, units...)}
	for _, name := range r.benchmarks {
		if !names.MatchString(name) {
			continue
		}
		cells := []string{name}
		for _, unit := range units {
			cell := report.NotMeasured
			if v, ok := r.Value(name + "/" + unit).(float64); ok {
				cell = report.Number(v)
			}
			cells = append(cells, cell)
		}
		t.Rows = append(t.Rows, cells)
	}
	return t.Markdown(), nil
}
