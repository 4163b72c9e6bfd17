package report

import (
	"fmt"
	"html/template"
	"unicode/utf8"
)

func escape(s string) string { return template.HTMLEscapeString(s) }

// drawing returns the SVG element of c. A screen reader reads name.
func (c *canvas) drawing(name string) template.HTML {
	return template.HTML(fmt.Sprintf(`<svg viewBox="0 0 %g %.0f" role="img" aria-label="%s">`+"\n%s</svg>",
		width, c.height, escape(name), c.behind.String()+c.String()))
}

// beside returns where what has one of several names begins, beside this and the others,
// which end before x.
func beside(x float64, name string, limit float64) float64 {
	return min(limit, max(x, 18+7*float64(utf8.RuneCountInString(name))))
}
