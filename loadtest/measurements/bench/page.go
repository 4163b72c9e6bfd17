package bench

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"text/template"
	"time"

	"example.com/flashsale/loadtest/report"
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
	err = t.Execute(&b, data{r, figuresByName(r.Figures)})
	return strings.TrimRight(b.String(), "\n") + "\n", err
}

// data is what page.tmpl shows.
type data struct {
	Report
	figures Figures
}

// Table returns a section's table as Markdown.
func (d data) Table(name string) (string, error) {
	for _, s := range sections {
		for _, t := range s.tables {
			if t.name == name {
				return t.of(d.figures).Markdown(), nil
			}
		}
	}
	return "", fmt.Errorf("no section has a table %q", name)
}

// TargetTable lists the targets, the missed ones in bold.
func (d data) TargetTable() string { return targetTable(d.Targets).Markdown() }

func targetTable(targets []Target) report.Table {
	t := report.Table{Header: []string{"target", "measured", "limit", ""}}
	for _, target := range targets {
		t.Rows = append(t.Rows, []string{target.Name, formatNumber(target.Value), target.limit(), target.verdict()})
	}
	return t
}

// Setup lists what the figures depend on.
func (d data) Setup() string {
	var b strings.Builder
	for _, line := range [][2]string{
		{"Commit", "`" + d.Commit + "`"},
		{"Date", d.Time.Format(time.DateOnly)},
		{"Duration of the run", fmt.Sprintf("%.0f s", d.Seconds)},
		{"CPU", fmt.Sprintf("%s, %d cores", d.Machine.CPU, d.Machine.Cores)},
		{"Memory", d.Machine.Mem},
		{"Versions", joinPairs(d.Versions)},
		{"Durability", joinPairs(d.Durability)},
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
