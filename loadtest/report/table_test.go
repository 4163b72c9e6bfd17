package report

import (
	"strings"
	"testing"
	"unicode/utf8"

	"example.com/flashsale/loadtest/verdict"
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

func TestTableWhoseWordsDoNotFitBecomesLists(t *testing.T) {
	t.Parallel()
	table := Table{Header: []string{"", "acknowledged", "unanswered", "undersold"}}
	table.Add("one", 1, 2, 3)
	var b strings.Builder
	table.Write(&b, 30)
	if want := "one\n    acknowledged: 1;\n    unanswered: 2; undersold:\n    3\n"; b.String() != want {
		t.Errorf("got\n%s, want\n%s", b.String(), want)
	}
}

func TestTableAlignsNumbersToTheRight(t *testing.T) {
	t.Parallel()
	table := Table{Header: []string{"", "n"}}
	table.Add("a", 1)
	table.Add("bc", 1000)
	var b strings.Builder
	table.Write(&b, 80)
	if want := "       n\n--------\na      1\nbc  1000\n"; b.String() != want {
		t.Errorf("got\n%s, want\n%s", b.String(), want)
	}
}

func TestVerdictsHaveAColourInATerminalOnly(t *testing.T) {
	t.Parallel()
	table := Table{Header: []string{"", "verdict"}}
	table.Add("row", verdict.Wrong)
	table.Add("held by a", verdict.Held)
	var plain, coloured strings.Builder
	table.Write(&plain, 80)
	table.Write(painted{&coloured}, 80)
	if strings.Contains(plain.String(), "\x1b") {
		t.Errorf("a file has colours: %q", plain.String())
	}
	for _, want := range []string{"\x1b[1;31mNO\x1b[0m\n", "held by a  ", "\x1b[32mheld\x1b[0m\n"} {
		if !strings.Contains(coloured.String(), want) {
			t.Errorf("no %q in %q", want, coloured.String())
		}
	}
}
