package bench

import (
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/template"

	"example.com/flashsale/loadtest/report"
)

//go:embed page.tmpl
var pageTemplate string

// page renders r as Markdown: the page docs/benchmarks.md.
func (r Report) page() (string, error) {
	t, err := template.New("page.tmpl").Funcs(template.FuncMap{"pairs": joinPairs}).Parse(pageTemplate)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	err = t.Execute(&b, r)
	return strings.TrimRight(b.String(), "\n") + "\n", err
}

// Table returns a section's table as Markdown.
func (r Report) Table(name string) (string, error) {
	for _, s := range sections {
		for _, t := range s.tables {
			if t.name == name {
				return t.of(r.Figures).Markdown(), nil
			}
		}
	}
	return "", fmt.Errorf("no section has a table %q", name)
}

// TargetTable lists the targets, those that are not met in bold.
func (r Report) TargetTable() string {
	t := targetTable(r.Targets)
	for _, cells := range t.Rows {
		if verdict := &cells[len(cells)-1]; *verdict != met {
			*verdict = "**" + *verdict + "**"
		}
	}
	return t.Markdown()
}

func targetTable(targets []Target) report.Table {
	t := report.Table{Header: []string{"target", "measured", "limit", ""}}
	for _, target := range targets {
		t.Add(target.Name, target.measured(), target.limit(), target.Verdict)
	}
	return t
}

// joinPairs joins names and values. A program that is not installed is not needed by
// bench.
func joinPairs(m map[string]string) string {
	var pairs []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		if m[k] != "unknown" {
			pairs = append(pairs, k+" "+m[k])
		}
	}
	return strings.Join(pairs, ", ")
}
