package report

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lab"
	"example.com/flashsale/internal/lab/browser"
	"example.com/flashsale/internal/lab/browser/axe"
	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/loadtest/rig"
	"example.com/flashsale/loadtest/verdict"
)

func TestMain(m *testing.M) { labtest.Main(m, lab.Chromium) }

// everyPart is a report with each kind of chart, verdict, table and file.
func everyPart() Report {
	return Report{
		Title: "Every <part> & more", Summary: "A summary of what was measured.", Pass: true,
		Environment: rig.Environment{
			Commit: "0123456789abcdef0123456789abcdef01234567", Time: time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC),
			Machine:  rig.Machine{CPU: "a CPU", Cores: 2, Mem: "8 GB"},
			Versions: map[string]string{"go": "go1.26"}, Durability: map[string]string{"sync_binlog": "1"},
		},
		Sections: []Section{
			{Title: "Charts", Text: "Each kind of chart.", Verdicts: []verdict.Verdict{verdict.Held},
				Charts: everyChart},
			{
				Title:    "Words",
				Verdicts: []verdict.Verdict{verdict.Wrong, verdict.Void, verdict.Lucky, verdict.Broke, verdict.Held},
				Problems: []string{"One thing that is wrong.", "Another."},
				Table: Table{Header: []string{"row", "what came out"},
					Rows: [][]string{{"1",
						"a sentence that is too long for a telephone in its whole length and is broken"}}, Text: true},
				Files: []File{{"other.html", "another page"}},
			},
			{Title: "A matrix", Table: Table{Matrix: true,
				Header: []string{"", "1. the first defect", "2. the second defect"},
				Rows:   [][]string{{"one lock", "broke", "held"}, {"another lock", "", "wrong"}}}},
			{Title: "Many columns",
				Table: Table{Header: []string{"a", "b b b b b", "c c c c c", "d d d d d", "e e e e e"},
					Rows: [][]string{{"first", "1,234,567", "1,234,567", "1,234,567", "1,234,567"}}}},
		},
	}
}

// A report opens from disk in a real browser, without an error on the console or
// a request, in both schemes, of which one is on a telephone. Its numbers are those of the
// data. The screenshots stay in out/report.
func TestReportOpensInABrowser(t *testing.T) {
	b := browser.Start(t)
	root, err := filepath.Abs(filepath.Join("..", ".."))
	check.NoError(t, err)
	t.Chdir(root)
	check.NoError(t, Write("report", everyPart()))
	for _, look := range []browser.Look{
		{Width: 1280, Height: 900}, {Width: 390, Height: 844, Dark: true},
	} {
		name := fmt.Sprintf("report-%d-%s", look.Width, map[bool]string{false: "light", true: "dark"}[look.Dark])
		t.Run(name, func(t *testing.T) { checkReport(t, b, root, name, look) })
	}
}

func checkReport(t *testing.T, b *browser.Browser, root, name string, look browser.Look) {
	t.Helper()
	p := b.Open(t, "file://"+filepath.Join(root, "out", "report", "report.html"), look)
	if title := browser.Evaluate[string](p, `document.title`); title != everyPart().Title {
		t.Errorf("the title is %q", title)
	}
	axe.Require(p, look)
	browser.Evaluate[any](p, `document.querySelectorAll("details").forEach(d => d.open = true)`)
	axe.Require(p, look)
	checkTables(p)
	if scrolled := browser.Evaluate[[]string](p, `[...document.querySelectorAll(".scroll")].filter(
		e => e.scrollWidth > e.clientWidth).map(e => e.textContent)`); len(scrolled) > 0 {
		t.Errorf("one has to scroll sideways for %q", scrolled)
	}
	p.Screenshot(filepath.Join("out", "report", name+".png"))
	if requests := browser.Evaluate[[]string](p,
		`performance.getEntriesByType("resource").map(e => e.name)`); len(requests) > 0 {
		t.Errorf("the page requests %q", requests)
	}
}

// checkTables compares the tables of the page with the data.
func checkTables(p *browser.Page) {
	p.Helper()
	var want [][][]string
	for _, s := range everyPart().Sections {
		if len(s.Table.Rows) > 0 {
			want = append(want, append([][]string{s.Table.Header}, s.Table.Rows...))
		}
		for _, c := range s.Charts {
			numbers := c.draw().Numbers
			want = append(want, append([][]string{numbers.Header}, numbers.Rows...))
		}
	}
	got := browser.Evaluate[[][][]string](p,
		`[...document.querySelectorAll("table")].map(t => [...t.rows].map(r => [...r.cells].map(c => c.textContent)))`)
	if diff := cmp.Diff(want, got); diff != "" {
		p.Errorf("tables, -data +page:\n%s", diff)
	}
}
