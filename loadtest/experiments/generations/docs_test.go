package generations

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// experimentTable returns the table of experiments in docs/locks.md.
func experimentTable() string {
	var b strings.Builder
	b.WriteString("| defect | fault | breaks | holds |\n|---|---|---|---|\n")
	for _, e := range experiments {
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", e.Defect, e.Fault, names(e.breaks), names(e.holds))
	}
	return b.String()
}

func names(generations []generation) string {
	var names []string
	for _, g := range generations {
		names = append(names, g.Name)
	}
	return strings.Join(names, "; ")
}

func TestLocksPageListsEveryExperiment(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../docs/locks.md")
	if err != nil {
		t.Fatal(err)
	}
	if want := experimentTable(); !strings.Contains(string(page), want) {
		t.Errorf("docs/locks.md must contain this table:\n%s", want)
	}
}
