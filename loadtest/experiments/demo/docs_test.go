package demo

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
)

func TestProofPageShowsEveryExperiment(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("../../../docs/proof.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(b), "```text\n")
	table, _, _ = strings.Cut(table, "```")
	table = regexp.MustCompile(`(\S) {2,}`).ReplaceAllString(table, "$1 ")
	for i, e := range experiments {
		row := fmt.Sprintf("\n%d %s %s %s ", i+1, e.Title(), e.lockTitle(), e.guardsOffTitle())
		for _, text := range []string{row, "\n    " + e.Lesson + "\n"} {
			found := strings.Index(table, text)
			if found < 0 {
				t.Fatalf("docs/proof.md lacks %q: copy the table of make demo, without its lines in parentheses", text)
			}
			table = table[found:]
		}
	}
}
