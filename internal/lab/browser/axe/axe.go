// Package axe checks how accessible a page is, with axe-core 4.14.1, whose
// release on npm axe.min.js is.
package axe

import (
	_ "embed"
	"fmt"

	"example.com/flashsale/internal/lab/browser"
)

//go:embed axe.min.js
var script string

// A violation is a rule that elements of a page break.
type violation struct {
	ID    string `json:"id"`
	Help  string `json:"help"`
	Nodes []struct {
		HTML    string `json:"html"`
		Summary string `json:"failureSummary"`
	} `json:"nodes"`
}

func (v violation) String() string {
	text := v.ID + ": " + v.Help
	for _, n := range v.Nodes {
		text += fmt.Sprintf("\n  %.200s\n  %s", n.HTML, n.Summary)
	}
	return text
}

// smallTexts lists the texts of a page that are less than 11 pixels high.
const smallTexts = `[...document.querySelectorAll("body *")].filter(e => e.checkVisibility() &&
	[...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim()) &&
	parseFloat(getComputedStyle(e).fontSize) * (e.ownerSVGElement?.getScreenCTM().a ?? 1) < 11).map(e => e.textContent)`

// Require fails the test of p for each rule of WCAG 2.2 AA and of axe's best practices that the page breaks as
// it is now, for small texts, and if the page is wider than the look.
func Require(p *browser.Page, look browser.Look) {
	p.Helper()
	browser.Evaluate[any](p, script+"; null")
	for _, v := range browser.Evaluate[[]violation](p,
		`axe.run({resultTypes: ["violations"]}).then(r => r.violations)`) {
		p.Error(v)
	}
	if small := browser.Evaluate[[]string](p, smallTexts); len(small) > 0 {
		p.Errorf("texts of less than 11 px: %q", small)
	}
	if width := browser.Evaluate[int64](p, `document.documentElement.scrollWidth`); width > look.Width {
		p.Errorf("the page is %d px wide on a screen of %d", width, look.Width)
	}
}
