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
	dir := filepath.Join("..", "..", "docs")
	got, err := os.ReadFile(filepath.Join(dir, "benchmarks.md"))
	if os.IsNotExist(err) {
		t.Skip("there is no docs/benchmarks.md")
	}
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
