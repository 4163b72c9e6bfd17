package flashsale_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/loadtest/measurements/bench"
	"example.com/flashsale/loadtest/report"
)

var write = flag.Bool("write", false, "write the quoted figures of docs/runs into the pages")

// runQuotation is a number in a page after a comment with the name of a run in
// docs/runs and the path of the value in its JSON, as in
// <!--pview:rows/views/version=v1,sender=k6/counted-->22. Of a text it is the benchmark and
// the unit, as in <!--bench:Claim/nginx/all-µs-->76.6.
var runQuotation = regexp.MustCompile(`<!--(\w+):(\S[^>]*?)-->([0-9.,-]*[0-9])?`)

// lineStart matches a comment that Markdown takes for the end of a paragraph.
var lineStart = regexp.MustCompile(`(?m)^ *<!--\w+:[^>]+-->[0-9].*`)

// The runs are copies of out/demo/proof.json, out/bench/bench.txt and so on. make docs
// runs this test with -write.
func TestPagesQuoteRuns(t *testing.T) {
	t.Parallel()
	runs := readRuns(t)
	benchmarks := readBenchmarks(t)
	quoted := map[string]bool{}
	for _, page := range pages(t) {
		text := read(t, page)
		want := runQuotation.ReplaceAllStringFunc(text, func(q string) string {
			m := runQuotation.FindStringSubmatch(q)
			run, isRun := runs[m[1]]
			text, isText := benchmarks[m[1]]
			if !isRun && !isText {
				return q // a comment of another test
			}
			quoted[m[1]] = true
			value := figure(lookUp(run, strings.Split(m[2], "/")))
			if isText {
				value = figure(text.Value(m[2]))
			}
			if value == "" || m[3] == "" {
				t.Errorf("%s: docs/runs has no number of %s at %s, or none follows the comment", page, m[1], m[2])
			}
			return "<!--" + m[1] + ":" + m[2] + "-->" + value
		})
		if line := lineStart.FindString(text); line != "" {
			t.Errorf("%s: a quotation begins the line %q", page, line)
		}
		switch {
		case text == want:
		case *write:
			if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
				t.Error(err)
			}
		default:
			t.Errorf("%s does not quote docs/runs: run make docs", page)
		}
	}
	for name, run := range runs {
		if run["pass"] != true || !quoted[name] {
			t.Errorf("docs/runs/%s.json: pass is %v; quoted: %v", name, run["pass"], quoted[name])
		}
	}
}

// The table of shops in docs/judge.md has each verdict of their run, with the overrun.
func TestTableOfShopsIsThatOfTheirRun(t *testing.T) {
	t.Parallel()
	shops, _ := lookUp(readRuns(t)["shops"], []string{"runs"}).([]any)
	page := regexp.MustCompile(`<!--.*?-->`).ReplaceAllString(read(t, "docs/judge.md"), "")
	lines := regexp.MustCompile(`(?m)^\|(?:one|two|last) .*\|$`).FindAllString(page, -1)
	for column, shop := range shops {
		limits, _ := lookUp(shop, []string{"rows"}).([]any)
		var cells []string // of the limits that this shop has
		for _, line := range lines {
			if cell := strings.Split(line, "|")[3+column]; cell != "" {
				cells = append(cells, cell)
			}
		}
		for i, limit := range limits {
			of := func(name string) string { return fmt.Sprint(lookUp(limit, []string{name})) }
			want := of("verdict")
			if want == "broke" {
				want += ": " + strings.NewReplacer("held", "", "oversold", "too many", "for one user", "of one").
					Replace(of("no_oversell")+of("one_each"))
			}
			if len(cells) != len(limits) || cells[i] != want {
				t.Errorf("%s, %s: the page lacks %q", lookUp(shop, []string{"shop"}), of("workload"), want)
			}
			if report := of("report"); report != "<nil>" && !strings.Contains(page, report) {
				t.Errorf("docs/judge.md does not name %s", report)
			}
		}
	}
	if len(shops) == 0 || len(lines) == 0 {
		t.Errorf("%d shops in the run, %d lines in the table", len(shops), len(lines))
	}
}

// readBenchmarks returns each run of benchmarks by its name.
func readBenchmarks(tb testing.TB) map[string]*bench.Run {
	tb.Helper()
	files, err := filepath.Glob("docs/runs/*.txt")
	if err != nil || len(files) == 0 {
		tb.Fatalf("%q, %v", files, err)
	}
	runs := map[string]*bench.Run{}
	for _, file := range files {
		runs[strings.TrimSuffix(filepath.Base(file), ".txt")], err = bench.Read(file)
		check.NoError(tb, err)
	}
	return runs
}

// readRuns returns the JSON of each run by its name.
func readRuns(tb testing.TB) map[string]map[string]any {
	tb.Helper()
	files, err := filepath.Glob("docs/runs/*.json")
	if err != nil || len(files) == 0 {
		tb.Fatalf("%q, %v", files, err)
	}
	runs := map[string]map[string]any{}
	for _, file := range files {
		var run map[string]any
		check.NoError(tb, json.Unmarshal([]byte(read(tb, file)), &run))
		runs[strings.TrimSuffix(filepath.Base(file), ".json")] = run
	}
	return runs
}

// lookUp returns the value at a path of names and, in a list, of an index, or of the fields
// that the first match has, as in version=v1,sender=k6. It returns nil if there is none.
func lookUp(value any, path []string) any {
	if len(path) == 0 {
		return value
	}
	switch v := value.(type) {
	case map[string]any:
		return lookUp(v[path[0]], path[1:])
	case []any:
		for i, element := range v {
			if path[0] == strconv.Itoa(i) || matches(element, path[0]) {
				return lookUp(element, path[1:])
			}
		}
	}
	return nil
}

// matches reports whether element has all fields, as in version=v1,sender=k6.
func matches(element any, fields string) bool {
	object, _ := element.(map[string]any)
	for field := range strings.SplitSeq(fields, ",") {
		name, value, _ := strings.Cut(field, "=")
		if has, found := object[name]; !found || fmt.Sprint(has) != value {
			return false
		}
	}
	return true
}

// figure returns a number as the pages show it, or the one that a text begins with,
// as in a date.
func figure(value any) string {
	switch v := value.(type) {
	case float64:
		return report.Number(v)
	case string:
		return regexp.MustCompile(`^[0-9.,-]*[0-9]`).FindString(v)
	}
	return ""
}
