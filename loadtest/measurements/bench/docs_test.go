package bench

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The page must be what the generator makes of the figures beside it.
func TestDocsBenchmarksIsGenerated(t *testing.T) {
	t.Parallel()
	dir := filepath.Join("..", "..", "..", "docs")
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

func TestReadmesQuoteTheFiguresOfDocsBenchmarks(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..", "..")
	figures, err := os.ReadFile(filepath.Join(root, "docs", "benchmarks.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range readmes {
		got, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		want, err := quote(string(got), figures)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(want, string(got)); diff != "" {
			t.Errorf("%s: run make docs; -want +got:\n%s", name, diff)
		}
	}
}

func TestPicturesAreOfDocsBenchmarks(t *testing.T) {
	t.Parallel()
	docs := filepath.Join("..", "..", "..", "docs")
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
	figures, err := json.Marshal(Report{
		Figures: []*Figure{{Name: "claims/direct/grouped", Median: 20123.4}},
		Targets: []Target{{Name: "grouped / articles' flow", Value: 10.5, Limit: 10}},
	})
	if err != nil {
		t.Fatal(err)
	}
	const text = "<!-- claims/direct/grouped -->19,216 claims/s, <!-- grouped / articles' flow -->11.2, no more"
	got, err := quote(text, figures)
	if want := "<!-- claims/direct/grouped -->20,123 claims/s, <!-- grouped / articles' flow -->10.5, no more"; got != want || err != nil {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
	if _, err := quote("<!-- nothing -->10", figures); err == nil {
		t.Error("a name without a figure is accepted")
	}
}

func TestOnlyFullRunsArePublishable(t *testing.T) {
	t.Parallel()
	measured, missing := Target{Name: "a", Value: 1, Limit: 2}, Target{Name: "b", Value: math.NaN(), Limit: 2, AtMost: true}
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
