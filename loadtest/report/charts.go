package report

import (
	"cmp"
	"fmt"
	"html/template"
	"maps"
	"math"
	"slices"
	"unicode/utf8"
)

func escape(s string) string { return template.HTMLEscapeString(s) }

// drawing returns the SVG element of c. A screen reader reads name.
func (c *canvas) drawing(name string) template.HTML {
	// Empty if there is one drawing for all screens.
	class := map[float64]string{width: "wide", phone: "phone"}[c.width]
	return template.HTML(fmt.Sprintf(`<svg class="%s" viewBox="0 0 %g %.0f" role="img" aria-label="%s">`+"\n%s</svg>",
		class, cmp.Or(c.width, width), c.height, escape(name), c.behind.String()+c.String()))
}

// beside returns where what has one of several names begins, beside this and the others,
// which end before x.
func beside(x float64, name string, limit float64) float64 {
	return min(limit, max(x, 18+7*float64(utf8.RuneCountInString(name))))
}

// Curves draws up to four series over a common axis.
type Curves struct {
	Caption      string
	XName, YName string
	Series       []Series
	Marks        []Span // shaded over the whole height, on the x axis
}

// A Series is a curve.
type Series struct {
	Name   string
	Points []Point
}

// A Point is one value of a series.
type Point struct{ X, Y float64 }

func (l Curves) caption() string { return l.Caption }

const curvesHeight = 260.0

func (l Curves) svg() (template.HTML, Table) {
	x, y := l.scales()
	c := &canvas{}
	for i, s := range l.Series {
		c.add(`<line class="curve c%d" x1="%d" x2="%d" y1="10" y2="10"/><text x="%d" y="14">%s</text>`, i, 70+i*260,
			100+i*260, 106+i*260, escape(s.Name))
	}
	for _, m := range l.Marks {
		c.addBehind(`<rect class="mark" x="%.1f" y="24" width="%.1f" height="%g"><title>%s</title></rect>`,
			x.at(m.From), max(1.5, x.at(m.To)-x.at(m.From)), curvesHeight-24, escape(m.Name))
	}
	for _, v := range y.ticks() {
		c.addBehind(`<line class="grid" x1="70" x2="%g" y1="%.1f" y2="%.1f"/>`, width-10, y.at(v), y.at(v))
		c.add(`<text class="unit" x="62" y="%.1f" text-anchor="end">%s</text>`, y.at(v)+4, Number(v))
	}
	c.height = curvesHeight
	c.xAxis(x, "24", l.XName)
	c.add(`<text class="unit" x="8" y="14">%s</text>`, escape(l.YName))
	for i, s := range l.Series {
		c.add(`<path class="curve c%d" d="%s"><title>%s</title></path>`, i, path(s.Points, x, y), escape(s.Name))
	}
	return c.drawing(l.Caption), l.table()
}

func (l Curves) scales() (x, y scale) {
	x, y = scale{low: math.Inf(1), from: 70, to: width - 10}, scale{from: curvesHeight, to: 28}
	for _, s := range l.Series {
		for _, p := range s.Points {
			x.low, x.high = min(x.low, p.X), max(x.high, p.X)
			y.low, y.high = min(y.low, p.Y), max(y.high, p.Y)
		}
	}
	x.low = min(x.low, x.high) // nothing to draw
	return x, y
}

func path(points []Point, x, y scale) string {
	d, command := "", "M"
	for _, p := range points {
		d += fmt.Sprintf("%s%.1f %.1f", command, x.at(p.X), y.at(p.Y))
		command = "L"
	}
	return d
}

// maxRows bounds the table of a curve. Of more points, some are left out.
const maxRows = 50

// table has a row for each x.
func (l Curves) table() Table {
	t := Table{Header: []string{l.XName}}
	rows := map[float64][]string{}
	for i, s := range l.Series {
		t.Header = append(t.Header, s.Name)
		for _, p := range s.Points {
			if rows[p.X] == nil {
				rows[p.X] = make([]string, len(l.Series))
			}
			rows[p.X][i] = Number(p.Y)
		}
	}
	for i, x := range slices.Sorted(maps.Keys(rows)) {
		if i%(1+len(rows)/maxRows) == 0 {
			t.Rows = append(t.Rows, append([]string{Number(x)}, rows[x]...))
		}
	}
	return t
}
