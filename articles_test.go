package flashsale_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// articleSections is how many sections each of the five articles has that docs/articles.md walks.
var articleSections = []int{11, 10, 6, 21, 16}

// sections returns the numbers of all sections, as in 003.7.
func sections() (numbers []string) {
	for article, n := range articleSections {
		for section := range n {
			numbers = append(numbers, fmt.Sprintf("%03d.%d", article, section+1))
		}
	}
	return numbers
}

// articlePages are the page in both languages.
var articlePages = []string{"docs/articles.zh-CN.md", "docs/articles.md"}

// defect is a row of make generations, which the pages write in italics.
var defect = regexp.MustCompile(`\*([a-z][a-z' ,-]+)\*`)

// articleRows returns the cells of a page's rows by the number of their section.
func articleRows(tb testing.TB, page string) map[string][]string {
	tb.Helper()
	rows := map[string][]string{}
	for _, m := range regexp.MustCompile(`(?m)^\| (00\d\.\d+) (.+) \|$`).FindAllStringSubmatch(read(tb, page), -1) {
		rows[m[1]] = strings.Split(m[2], " | ")
	}
	return rows
}

func TestArticlesAreWalkedSectionBySection(t *testing.T) {
	t.Parallel()
	const command = 2
	for _, page := range articlePages {
		rows := articleRows(t, page)
		if len(rows) != len(sections()) {
			t.Errorf("%s has %d rows, want %d", page, len(rows), len(sections()))
		}
		for _, number := range sections() {
			cells := rows[number]
			if len(cells) != 5 || slices.Contains(cells, "") {
				t.Errorf("%s: section %s has the cells %q, want 5", page, number, cells)
				continue
			}
			cell := cells[command]
			if len(makeTargets(cell))+len(paths(cell)) == 0 && !defect.MatchString(cell) {
				t.Errorf("%s: section %s names no command, no file and no row of make generations", page, number)
			}
		}
	}
}

func TestArticlesPagesHaveTheSameRows(t *testing.T) {
	t.Parallel()
	chinese, english := articleRows(t, articlePages[0]), articleRows(t, articlePages[1])
	for _, number := range sections() {
		zh, en := facts(strings.Join(chinese[number], " | ")), facts(strings.Join(english[number], " | "))
		slices.Sort(zh)
		slices.Sort(en)
		if !slices.Equal(zh, en) {
			t.Errorf("section %s names %q in Chinese and %q in English", number, zh, en)
		}
	}
	if zh, en := javaCode(t, articlePages[0]), javaCode(t, articlePages[1]); len(zh) < 20 || !slices.Equal(zh, en) {
		t.Errorf("the tables for Java have the code %q in Chinese and %q in English", zh, en)
	}
}

// javaCode returns the code in the table for readers who come from Java.
func javaCode(tb testing.TB, page string) []string {
	tb.Helper()
	_, table, _ := strings.Cut(read(tb, page), "\n| Java |")
	return code(table)
}

func TestArticlesNameEveryDefect(t *testing.T) {
	t.Parallel()
	source := read(t, "loadtest/experiments/generations/experiments.go")
	var defects []string
	for _, m := range regexp.MustCompile(`(?m)^\t\{"(.+?)", "`).FindAllStringSubmatch(source, -1) {
		defects = append(defects, m[1])
	}
	slices.Sort(defects)
	for _, page := range articlePages {
		var names []string
		for _, cells := range articleRows(t, page) {
			for _, m := range defect.FindAllStringSubmatch(cells[2], -1) {
				names = append(names, m[1])
			}
		}
		slices.Sort(names)
		if names = slices.Compact(names); len(names) == 0 || !slices.Equal(names, defects) {
			t.Errorf("%s names %q, want %q", page, names, defects)
		}
	}
}
