// Package report writes what an experiment has measured as one HTML file with
// charts. The file has no script and refers to nothing outside of itself, so it
// opens from disk, without a network, and prints.
package report

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"os"
	"path/filepath"

	"example.com/flashsale/loadtest/rig"
	"example.com/flashsale/loadtest/verdict"
)

// A Report is one page.
type Report struct {
	Title       string
	Summary     string // one or two sentences: what was done and what came out
	Pass        bool
	Environment rig.Environment
	Sections    []Section
}

// A Section is a part of a page. All members but Title are optional.
type Section struct {
	Title    string
	Text     string
	Verdicts []verdict.Verdict // of its rows; a section that claims nothing has none
	Problems []string          // each a paragraph
	Charts   []Lanes           // those without a value are left out
	Table    Table
	Files    []File
}

// A File is a link to a file beside the report.
type File struct{ Path, Text string }

//go:embed page.tmpl *.css
var files embed.FS

var page = template.Must(template.New("page.tmpl").Funcs(template.FuncMap{
	"draw": Lanes.draw, "style": style, "tally": verdict.Tally,
	"class":   func(v verdict.Verdict) string { return string(v) },
	"classOf": func(cell string) string { v, _ := verdict.Named(cell); return string(v) },
}).ParseFS(files, "page.tmpl"))

// Write writes r to out/name/report.html and prints the path.
func Write(name string, r Report) error {
	path := filepath.Join("out", name, "report.html")
	var b bytes.Buffer
	if err := page.Execute(&b, r); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if err := rig.WriteFile(path, b.Bytes()); err != nil {
		return err
	}
	fmt.Println(path)
	return nil
}

// Generated returns links to what the load generators have written to a directory of out/name.
func Generated(name, dir string) (found []File) {
	for _, f := range []File{
		{filepath.Join(dir, rig.K6Report), "k6's own report"},
		{filepath.Join(dir, rig.JMeterReport, "index.html"), "JMeter's own dashboard"},
	} {
		if _, err := os.Stat(filepath.Join("out", name, f.Path)); err == nil {
			found = append(found, f)
		}
	}
	return found
}

// style returns the style sheet of a page, in the scheme of the reader's system. The colours are those
// of the race's page (loadtest/experiments/race/page/style.css).
func style() (template.CSS, error) {
	var texts []any
	for _, name := range []string{"light", "dark", "style", "charts"} {
		text, err := files.ReadFile(name + ".css")
		if err != nil {
			return "", err
		}
		texts = append(texts, string(text))
	}
	return template.CSS(fmt.Sprintf("%s@media (prefers-color-scheme: dark) {\n%s}\n%s%s", texts...)), nil
}
