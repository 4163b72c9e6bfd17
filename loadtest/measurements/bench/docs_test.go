package bench

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/flashsale/loadtest/rig"
)

// root is the repository's root, seen from this package.
const root = "../../.."

// The page must be what the generator makes of the figures beside it.
func TestDocsBenchmarksIsGenerated(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(root, "docs")
	got, err := os.ReadFile(filepath.Join(dir, "benchmarks.md"))
	if err != nil {
		t.Fatal(err)
	}
	r := publishedReport(t)
	if err := r.publishable(); err != nil {
		t.Error(err)
	}
	want, err := r.page()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("run make docs; -want +got:\n%s", diff)
	}
}

func TestPagesQuoteTheFiguresOfDocsBenchmarks(t *testing.T) {
	t.Parallel()
	r := publishedReport(t)
	pages, err := quotingPages(root)
	if err != nil || len(pages) < 8 {
		t.Fatalf("only the pages %v, %v", pages, err)
	}
	for _, page := range pages {
		got, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		want, err := r.quote(string(got))
		if err != nil {
			t.Errorf("%s: %v", page, err)
		}
		if diff := cmp.Diff(want, string(got)); diff != "" {
			t.Errorf("%s: run make docs; -want +got:\n%s", page, diff)
		}
	}
}

// publishedReport returns the report in docs/benchmarks.json.
func publishedReport(tb testing.TB) Report {
	tb.Helper()
	r, err := readPublished(root)
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

func TestPicturesAreOfDocsBenchmarks(t *testing.T) {
	t.Parallel()
	files, err := publishedReport(t).draw()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range files {
		if got, err := os.ReadFile(filepath.Join(root, "docs", "pictures", name)); err != nil || string(got) != want {
			t.Errorf("docs/pictures/%s is not of docs/benchmarks.json: run make docs; %v", name, err)
		}
	}
}

func TestQuotationsAreReplaced(t *testing.T) {
	t.Parallel()
	r := Report{
		Figures: []*Figure{{Name: "claims/direct/grouped", Median: 20123.4, Values: []float64{20123.4}},
			{Name: "claims/direct/each", Median: 2000, Values: []float64{2000}}},
		Targets: []Target{newTarget("grouped / articles' flow", samples{10.5}, 10, atLeast)},
	}
	for text, want := range map[string]string{
		"sells <!-- claims/direct/grouped -->19,216 claims/s, no more": "20,123 claims/s, no more",
		"is <!-- grouped / articles' flow -->11.2.":                    "10.5.",
		"| <!-- claims/direct/grouped / claims/direct/each -->1 |":     "10.1 |",
	} {
		before, _, _ := strings.Cut(text, "-->")
		if got, err := r.quote(text); got != before+"-->"+want || err != nil {
			t.Errorf("got %q, %v; want %q", got, err, want)
		}
	}
	for _, text := range []string{
		"is <!-- nothing -->10", "is <!-- claims/direct/each / nothing -->10", "is <!-- claims/direct/each -->many",
		"is\n  <!-- claims/direct/each -->2,000",
	} {
		if _, err := r.quote(text); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}

// decoded returns r as a later program reads it: without what the JSON does not have.
func decoded(tb testing.TB, r Report) Report {
	tb.Helper()
	file := filepath.Join(tb.TempDir(), "bench.json")
	if err := rig.WriteJSON(file, r); err != nil {
		tb.Fatal(err)
	}
	r, err := readReport(file)
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

func TestOnlyFullRunsArePublishable(t *testing.T) {
	t.Parallel()
	measured, missing := newTarget("a", samples{1}, 2, atLeast), newTarget("b", nil, 2, atMost)
	for _, test := range []struct {
		name   string
		report Report
		want   bool
	}{
		{"full", Report{Targets: []Target{measured}}, true},
		{"quick", Report{Quick: true, Targets: []Target{measured}}, false},
		{"interrupted", Report{Targets: []Target{measured}, Failures: []string{"interrupted"}}, false},
		{"partial", Report{Targets: []Target{measured, missing}}, false},
	} {
		if err := decoded(t, test.report).publishable(); (err == nil) != test.want {
			t.Errorf("%s run: got %v, want publishable %v", test.name, err, test.want)
		}
	}
}
