package bench

import (
	"strings"
	"testing"

	"example.com/flashsale/loadtest/rig"
)

func TestPageShowsWhatWasMeasured(t *testing.T) {
	t.Parallel()
	var f Figures
	for _, v := range []float64{19_000, 21_000, 20_000} {
		f.add(measured{oneInstanceRate(grouped).figure, v})
	}
	f.add(measured{oneInstanceRate(grouped).p99(), 23.4})
	report := Report{
		Environment: rig.Environment{Commit: "abc", Machine: rig.Machine{CPU: "a CPU", Cores: 2},
			Versions: map[string]string{"redis": "7", "go": "1"}},
		Repetitions: 3, Figures: f, Targets: targets(f),
	}
	for _, want := range []string{
		"| **`grouped`** | – | – | – | 20,000 (19,000–21,000) | 23.4 ms | – | – |\n",
		"- Commit: `abc`\n", "- CPU: a CPU, 2 cores\n", "- Versions: go 1, redis 7\n",
		"| grouped / empty handler, one instance | – | ≥ 0.38 | **not measured** |\n",
		"median of 3 repetitions",
	} {
		if got := pageOf(t, report); !strings.Contains(got, want) {
			t.Errorf("the page lacks %q:\n%s", want, got)
		}
	}
}

// A table that no section has is an error of the page itself.
func TestPageShowsEveryTable(t *testing.T) {
	t.Parallel()
	for _, s := range sections {
		for _, table := range s.tables {
			if n := strings.Count(pageTemplate, `{{.Table "`+table.name+`"}}`); n != 1 {
				t.Errorf("page.tmpl shows the table %q %d times, want once", table.name, n)
			}
		}
	}
}

func TestPageWarnsOfAQuickRun(t *testing.T) {
	t.Parallel()
	const warning = "This was a quick run"
	if got := pageOf(t, Report{}); strings.Contains(got, warning) {
		t.Error("the page of a full run has the warning")
	}
	if got := pageOf(t, Report{Quick: true}); !strings.Contains(got, warning) {
		t.Error("the page of a quick run has no warning")
	}
}

func pageOf(t *testing.T, r Report) string {
	t.Helper()
	markdown, err := decoded(t, r).page()
	if err != nil {
		t.Fatal(err)
	}
	return markdown
}
