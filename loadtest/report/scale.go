package report

import (
	"fmt"
	"html/template"
	"math"
	"strconv"
	"strings"
)

// width is the width of a drawing's coordinates. The page scales drawings.
const width = 1100.0

// A scale maps values to coordinates.
type scale struct {
	low, high float64 // values
	from, to  float64 // coordinates
}

func (s scale) at(v float64) float64 {
	if s.high == s.low {
		return s.from
	}
	return s.from + (v-s.low)/(s.high-s.low)*(s.to-s.from)
}

// ticks returns round values from low to high, four to nine.
func (s scale) ticks() (all []float64) {
	step := roundStep((s.high - s.low) / 6)
	if step == 0 {
		return []float64{s.low}
	}
	for i := math.Ceil(s.low / step); i*step <= s.high*1.0001; i++ {
		all = append(all, i*step)
	}
	return all
}

// roundStep returns the next 1, 2 or 5 times a power of ten.
func roundStep(v float64) float64 {
	if v <= 0 {
		return 0
	}
	power := math.Pow(10, math.Floor(math.Log10(v)))
	for _, m := range []float64{1, 2, 5} {
		if v <= m*power {
			return m * power
		}
	}
	return 10 * power
}

// NotMeasured stands for a number that is NaN.
const NotMeasured = "–"

// Number formats v with three significant digits, and from 100 on as a whole
// number with commas.
func Number(v float64) string {
	switch {
	case math.IsNaN(v):
		return NotMeasured
	case math.Abs(v) < 100:
		return strconv.FormatFloat(v, 'g', 3, 64)
	}
	digits := strconv.FormatFloat(v, 'f', 0, 64)
	for i := len(digits) - 3; i > 0 && digits[i-1] != '-'; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// A canvas collects the elements of a drawing. Those behind are grid lines and
// bands.
type canvas struct {
	strings.Builder
	behind strings.Builder
	height float64
}

func escape(s string) string { return template.HTMLEscapeString(s) }

// drawing returns the SVG element of c. A screen reader reads name.
func (c *canvas) drawing(name string) template.HTML {
	return template.HTML(fmt.Sprintf(`<svg viewBox="0 0 %g %.0f" role="img" aria-label="%s">`+"\n%s</svg>",
		width, c.height, escape(name), c.behind.String()+c.String()))
}

// add appends an element. Texts among the arguments must be escaped.
func (c *canvas) add(format string, args ...any) { fmt.Fprintf(&c.Builder, format+"\n", args...) }

// addBehind appends an element that add's elements cover.
func (c *canvas) addBehind(format string, args ...any) { fmt.Fprintf(&c.behind, format+"\n", args...) }

// xAxis draws grid lines and their values below the drawing so far.
func (c *canvas) xAxis(s scale, top, unit string) {
	for _, v := range s.ticks() {
		x := s.at(v)
		c.addBehind(`<line class="grid" x1="%.1f" x2="%.1f" y1="%s" y2="%.1f"/>`, x, x, top, c.height)
		c.add(`<text class="unit" x="%.1f" y="%.1f" text-anchor="middle">%s</text>`, x, c.height+15, Number(v))
	}
	c.add(`<text class="unit" x="%.1f" y="%.1f" text-anchor="end">%s</text>`, s.to, c.height+30, escape(unit))
	c.height += 34
}
