package bench

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"text/template"
	"time"

	"example.com/flashsale/loadtest/report"
)

//go:embed page.tmpl
var pageTemplate string

// page renders r as Markdown: the page docs/benchmarks.md.
func (r Report) page() (string, error) {
	t, err := template.New("page.tmpl").Parse(pageTemplate)
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

// TargetTable lists the targets, the missed ones in bold.
func (r Report) TargetTable() string { return targetTable(r.Targets).Markdown() }

func targetTable(targets []Target) report.Table {
	t := report.Table{Header: []string{"target", "measured", "limit", ""}}
	for _, target := range targets {
		t.Rows = append(t.Rows, []string{target.Name, report.Number(target.Value), target.limit(), target.verdict()})
	}
	return t
}

// Setup lists what the figures depend on.
func (r Report) Setup() string {
	var b strings.Builder
	for _, line := range [][2]string{
		{"Commit", "`" + r.Commit + "`"},
		{"Date", r.Time.Format(time.DateOnly)},
		{"Duration of the run", fmt.Sprintf("%.0f s", r.Seconds)},
		{"CPU", fmt.Sprintf("%s, %d cores", r.Machine.CPU, r.Machine.Cores)},
		{"Memory", r.Machine.Mem},
		{"Versions", joinPairs(r.Versions)},
		{"Durability", joinPairs(r.Durability)},
	} {
		fmt.Fprintf(&b, "- %s: %s\n", line[0], line[1])
	}
	return b.String()
}

func joinPairs(m map[string]string) string {
	var pairs []string
	for k, v := range m {
		if v != "unknown" { // not installed, and not needed by bench
			pairs = append(pairs, k+" "+v)
		}
	}
	slices.Sort(pairs)
	return strings.Join(pairs, ", ")
}
