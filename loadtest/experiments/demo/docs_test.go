package demo

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"example.com/flashsale/internal/check"
)

// The page's table has every experiment, with the figures of the run in docs/runs. Readers of that and of
// proof.json know the members by name.
func TestProofPageShowsEveryExperiment(t *testing.T) {
	t.Parallel()
	var run Proof
	decoder := json.NewDecoder(bytes.NewReader(file(t, "runs/demo.json")))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&run); err != nil || len(run.Runs) != len(Experiments) {
		t.Fatalf("docs/runs/demo.json: %v, %d rows, want %d", err, len(run.Runs), len(Experiments))
	}
	_, table, _ := strings.Cut(string(file(t, "proof.md")), "```text\n")
	table, _, _ = strings.Cut(table, "```")
	table = regexp.MustCompile(`(\S) {2,}`).ReplaceAllString(table, "$1 ")
	for i, e := range Experiments {
		r := run.Runs[i]
		begin := fmt.Sprintf("\n%d %s %s %s %d %d ", i+1, e.Title(), e.lockTitle(), e.guardsOffTitle(),
			r.Accepted, r.Orders)
		row := regexp.QuoteMeta(begin) + fmt.Sprintf(`.* %d \d+ ms .*`, r.Contenders) +
			regexp.QuoteMeta("\n    "+e.Lesson+"\n")
		found := regexp.MustCompile(row).FindStringIndex(table)
		if found == nil {
			t.Fatalf("docs/proof.md lacks %q: copy the table of make demo, without its lines in parentheses", row)
		}
		table = table[found[1]-1:]
	}
}

func file(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile("../../../docs/" + name)
	check.NoError(t, err)
	return b
}
