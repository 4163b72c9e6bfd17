package bench

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
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
	figures, err := os.ReadFile(filepath.Join(dir, "benchmarks.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := publishable(figures); err != nil {
		t.Error(err)
	}
	want, err := page(figures)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("run make docs; -want +got:\n%s", diff)
	}
}

func TestPagesQuoteTheFiguresOfDocsBenchmarks(t *testing.T) {
	t.Parallel()
	r := published(t)
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

// published returns the report in docs/benchmarks.json.
func published(tb testing.TB) (r Report) {
	tb.Helper()
	text, err := os.ReadFile(filepath.Join(root, "docs", "benchmarks.json"))
	if err != nil {
		tb.Fatal(err)
	}
	if err := json.Unmarshal(text, &r); err != nil {
		tb.Fatal(err)
	}
	return r
}

func TestPicturesAreOfDocsBenchmarks(t *testing.T) {
	t.Parallel()
	docs := filepath.Join(root, "docs")
	figures, err := os.ReadFile(filepath.Join(docs, "benchmarks.json"))
	if err != nil {
		t.Fatal(err)
	}
	files, err := draw(figures)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range files {
		if got, err := os.ReadFile(filepath.Join(docs, "pictures", name)); err != nil || string(got) != want {
			t.Errorf("docs/pictures/%s is not of docs/benchmarks.json: run make docs; %v", name, err)
		}
	}
}

func TestQuotationsAreReplaced(t *testing.T) {
	t.Parallel()
	r := Report{
		Figures: []*Figure{{Name: "claims/direct/grouped", Median: 20123.4},
			{Name: "claims/direct/each", Median: 2000}},
		Targets: []Target{{Name: "grouped / articles' flow", Value: 10.5, Limit: 10}},
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

func TestOnlyFullRunsArePublishable(t *testing.T) {
	t.Parallel()
	measured, missing := Target{Name: "a", Value: 1, Limit: 2},
		Target{Name: "b", Value: math.NaN(), Limit: 2, AtMost: true}
	for _, test := range []struct {
		name   string
		report Report
		want   bool
	}{
		{"full", Report{Targets: []Target{measured}}, true},
		{"quick", Report{Quick: true, Targets: []Target{measured}}, false},
		{"partial", Report{Targets: []Target{measured, missing}}, false},
	} {
		text, err := json.Marshal(test.report)
		if err != nil {
			t.Fatal(err)
		}
		if err := publishable(text); (err == nil) != test.want {
			t.Errorf("%s run: got %v, want publishable %v", test.name, err, test.want)
		}
	}
}
