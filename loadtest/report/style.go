package report

import (
	"fmt"
	"html/template"
	"strings"
)

// A Scheme is a set of colours. They are those of the race's page
// (loadtest/experiments/race/page/style.css).
type Scheme string

// The colour schemes.
const (
	Light Scheme = "light"
	Dark  Scheme = "dark"
)

// style returns the style sheet of a page, in the scheme of the reader's system.
func style() (template.CSS, error) {
	text, err := sheets("%s@media (prefers-color-scheme: dark) {\n%s}\n%s%s", "light", "dark", "style", "charts")
	return template.CSS(text), err
}

// svgText makes the text of a drawing 12 pixels high where a README shows it,
// some 830 pixels wide.
const svgText = `:root { background: var(--card); font-family: system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
svg text { font-size: 16px; }
svg .unit { font-size: 15px; }
`

// SVG returns the drawing of c as a file for a page with the given colours.
func SVG(c Chart, s Scheme) (string, error) {
	drawing, _ := c.svg()
	css, err := sheets("%s%s", string(s), "charts")
	if err != nil {
		return "", err
	}
	text := strings.Replace(string(drawing), "<svg", `<svg xmlns="http://www.w3.org/2000/svg"`, 1)
	return strings.Replace(text, "\n", "\n<style>\n"+css+svgText+"</style>\n", 1) + "\n", nil
}

// sheets formats the named style sheets.
func sheets(format string, names ...string) (string, error) {
	var texts []any
	for _, name := range names {
		text, err := files.ReadFile(name + ".css")
		if err != nil {
			return "", err
		}
		texts = append(texts, string(text))
	}
	return fmt.Sprintf(format, texts...), nil
}
