package report

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestTableIsAsNarrowAsTheTerminal(t *testing.T) {
	t.Parallel()
	table := Table{Header: []string{"fault", "all coupons sell again after", "verdict"}}
	table.Add("instance a drained while partitioned from MySQL — and more", "1.5 s", "yes")
	table.Add("a note of some length on the row above it, which is wrapped as well")
	for _, width := range []int{40, 60, 80, 200} {
		var b strings.Builder
		table.Write(&b, width)
		for line := range strings.Lines(b.String()) {
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > width {
				t.Errorf("%d columns instead of %d: %s", n, width, line)
			}
		}
		for word := range strings.FieldsSeq("fault coupons partitioned MySQL 1.5 yes wrapped") {
			if !strings.Contains(b.String(), word) {
				t.Errorf("%d columns: %q is missing:\n%s", width, word, b.String())
			}
		}
	}
}

func TestTableWhoseWordsDoNotFitHasNoDetails(t *testing.T) {
	t.Parallel()
	table := Columns[int]{
		Main("", func(i int) int { return i }), Detail("acknowledged", func(i int) int { return 2 * i }),
		Detail("unanswered", func(i int) int { return 3 * i }), Main("undersold", func(i int) int { return 4 * i }),
	}.Table([]int{1}, func(int) []string { return []string{"a note"} })
	for width, want := range map[int]string{
		40: "   acknowledged  unanswered  undersold\n" + strings.Repeat("-", 38) + "\n" +
			"1             2           3          4\n    a note\n",
		30: "   undersold\n------------\n1          4\n    a note\n",
		8:  "   under\n    sold\n--------\n1      4\n    a\n    note\n",
	} {
		var b strings.Builder
		table.Write(&b, width)
		if b.String() != want {
			t.Errorf("%d columns: got\n%s, want\n%s", width, b.String(), want)
		}
	}
}

func TestMatrixHasEachCellInItsRowAndColumn(t *testing.T) {
	t.Parallel()
	m := Matrix("", []Cell{{"old", "first", "broke"}, {"new", "first", "held"}, {"new", "second", "wrong"}})
	want := [][]string{{"", "first", "second"}, {"old", "broke", ""}, {"new", "held", "wrong"}}
	if diff := cmp.Diff(want, append([][]string{m.Header}, m.Rows...)); diff != "" || !m.Matrix {
		t.Error(diff)
	}
}
