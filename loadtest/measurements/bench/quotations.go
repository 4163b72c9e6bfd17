package bench

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"example.com/flashsale/loadtest/report"
)

// quotation is a number in a page after a comment with the name of its figure or
// target, or with two names and the ratio of their figures, as in
// <!-- claims/direct/grouped -->19,216 and <!-- claims/direct/grouped / claims/direct/each -->8.36.
// A comment with a colon, as in <!-- model: … -->, is of another test.
var quotation = regexp.MustCompile(`<!-- ([^>:]+) -->([0-9.,]*[0-9])?`)

// lineStart matches a comment that Markdown takes for the end of a paragraph.
var lineStart = regexp.MustCompile(`(?m)^ *<!-- [^>]+ -->[0-9].*`)

// quotingPages returns the pages below root that quote figures of
// docs/benchmarks.json: all but the generated one.
func quotingPages(root string) (pages []string, err error) {
	for _, pattern := range []string{"*.md", "docs/*.md"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			return nil, err
		}
		pages = append(pages, found...)
	}
	return slices.DeleteFunc(pages, func(page string) bool { return filepath.Base(page) == "benchmarks.md" }), nil
}

// quote returns text with each quotation replaced by the value in r. It returns
// an error if r lacks one, if a comment has no number after it, or if a quotation
// begins a line, which would end the paragraph.
func (r Report) quote(text string) (string, error) {
	var err error
	if line := lineStart.FindString(text); line != "" {
		err = fmt.Errorf("a quotation begins the line %q", line)
	}
	text = quotation.ReplaceAllStringFunc(text, func(q string) string {
		m := quotation.FindStringSubmatch(q)
		name, number := m[1], m[2]
		value := r.value(name)
		switch {
		case number == "":
			err = fmt.Errorf("no number follows <!-- %s -->", name)
		case math.IsNaN(value):
			err = fmt.Errorf("docs/benchmarks.json has no figure and no target %q, or it is void", name)
		}
		return "<!-- " + name + " -->" + report.Number(value)
	})
	return text, err
}

// value returns the value of a target, the median of a figure, or the ratio of
// two figures. It returns NaN if there is no such name, or if a figure is void: that of
// an offer that was not sent, or of which more was made than can be.
func (r Report) value(name string) float64 {
	for _, t := range r.Targets {
		if t.Name == name {
			return t.value()
		}
	}
	dividend, divisor, isRatio := strings.Cut(name, " / ")
	if r.Figures.unsent(dividend) || r.Figures.unsent(divisor) {
		return math.NaN()
	}
	if isRatio {
		_, median, _ := ratio(figure{name: dividend}, figure{name: divisor})(r.Figures).spread()
		return median
	}
	return r.Figures.named(name)
}

// writeQuotations replaces the quotations in all pages.
func (r Report) writeQuotations() error {
	pages, err := quotingPages(".")
	if err != nil {
		return err
	}
	for _, page := range pages {
		if err := r.writeQuotationsOf(page); err != nil {
			return fmt.Errorf("%s: %w", page, err)
		}
	}
	return nil
}

func (r Report) writeQuotationsOf(page string) error {
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	quoted, err := r.quote(string(text))
	if err != nil || quoted == string(text) {
		return err
	}
	return os.WriteFile(page, []byte(quoted), 0o644)
}
