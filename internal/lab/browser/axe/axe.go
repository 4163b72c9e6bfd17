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

// A Violation is a rule that elements of a page break.
type Violation struct {
	ID    string `json:"id"`
	Help  string `json:"help"`
	Nodes []struct {
		HTML    string `json:"html"`
		Summary string `json:"failureSummary"`
	} `json:"nodes"`
}

func (v Violation) String() string {
	text := v.ID + ": " + v.Help
	for _, n := range v.Nodes {
		text += fmt.Sprintf("\n  %.200s\n  %s", n.HTML, n.Summary)
	}
	return text
}

// Check returns the rules of WCAG 2.2 AA and axe's best practices that the page
// breaks as it is now.
func Check(p *browser.Page) ([]Violation, error) {
	if _, err := browser.Evaluate[any](p, script+"; null"); err != nil {
		return nil, fmt.Errorf("axe: load: %w", err)
	}
	violations, err := browser.Evaluate[[]Violation](p,
		`axe.run({resultTypes: ["violations"]}).then(r => r.violations)`)
	if err != nil {
		return nil, fmt.Errorf("axe: run: %w", err)
	}
	return violations, nil
}
