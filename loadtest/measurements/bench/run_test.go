package bench

import (
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/flashsale/internal/check"
)

// The page must be what the generator makes of the run beside it, and short.
func TestDocsBenchmarksIsGenerated(t *testing.T) {
	t.Parallel()
	r, err := Read(Published)
	check.NoError(t, err)
	want, err := r.page()
	check.NoError(t, err)
	got, err := os.ReadFile(filepath.Join("docs", "benchmarks.md"))
	if diff := cmp.Diff(want, string(got)); err != nil || diff != "" {
		t.Errorf("%v; run make docs; -want +got:\n%s", err, diff)
	}
	if words := len(strings.Fields(want)); words > 1200 {
		t.Errorf("the page has %d words", words)
	}
	if err := r.whole(); err != nil {
		t.Error(err)
	}
}

func read(t *testing.T, text string) *Run {
	t.Helper()
	file := filepath.Join(t.TempDir(), "bench.txt")
	check.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	r, err := Read(file)
	check.NoError(t, err)
	return r
}

func TestPageShowsWhatWasMeasured(t *testing.T) {
	t.Parallel()
	page, err := read(t, `commit: abc
quick: true
BenchmarkClaim/nginx-2	1	100.0 all-µs	20000 per-s
BenchmarkClaim/nginx-2	1	90.0 all-µs	30000 per-s
BenchmarkClaim/nginx-2	1	95.0 all-µs	25000 per-s
BenchmarkOverload/peak=1x-2	1	1.000 void
`).page()
	check.NoError(t, err)
	for _, want := range []string{
		"- Commit: `abc`", "This was a quick run",
		"|CPU of all processes for a claim behind nginx (µs)|95 (90–100)|≤ 100|met|\n",
		"|claims/s directly, of an empty handler's|–|≥ 0.38|not measured|\n",
		"|Claim/nginx|25,000|–|95|", "|Overload/peak=1x|–|",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q:\n%s", want, page)
		}
	}
}

func TestLimitIsMetOnlyIfAllRepetitionsAgree(t *testing.T) {
	t.Parallel()
	atLeast, atMost := headline{atLeast: 2}, headline{atMost: 2}
	for _, c := range []struct {
		headline
		values []float64
		want   string
	}{
		{atLeast, []float64{3, 2}, met}, {atLeast, []float64{1, 1.9}, missed}, {atLeast, []float64{1.9, 4}, undecided},
		{atMost, []float64{1, 2}, met}, {atMost, []float64{3, 4}, missed}, {atMost, []float64{1, 9}, undecided},
		{atMost, nil, notMeasured},
	} {
		if got := c.verdict(c.values); got != c.want {
			t.Errorf("%s of %v: %s, want %s", c.limit(), c.values, got, c.want)
		}
	}
}

func TestOnlyAWholeRunIsPublished(t *testing.T) {
	t.Parallel()
	var all strings.Builder
	for _, h := range headlines {
		all.WriteString("Benchmark" + path.Dir(h.figure) + "-2\t1\t1.0 " + path.Base(h.figure) + "\n")
	}
	const ok = "PASS\nok  \tp\t1s\nok  \tpeers\t1s\n"
	for name, c := range map[string]struct {
		text string
		want bool
	}{
		"whole":       {all.String() + ok, true},
		"failed":      {all.String() + "--- FAIL: BenchmarkCrowd/clients=666\n" + ok, false},
		"interrupted": {all.String() + ok + "BenchmarkWait/spin-2\t", false},
		"cut off":     {all.String() + "PASS\nok  \tp\t1s\n", false},
		"not built":   {all.String() + ok + "FAIL\tpeers [build failed]\n", false},
		"a part":      {all.String()[:strings.LastIndex(all.String(), "Benchmark")] + ok, false},
	} {
		if err := read(t, c.text).whole(); (err == nil) != c.want {
			t.Errorf("%s: %v", name, err)
		}
	}
}
