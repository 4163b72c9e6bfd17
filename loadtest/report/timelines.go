package report

import (
	"fmt"
	"html/template"
	"maps"
	"slices"
	"strings"
	"time"

	"example.com/flashsale/loadtest/rig"
)

// Claims draws each claim of a burst as a line from sent to answered, in the
// lane of the instance that replied, in the order of sending: those that were sent first.
type Claims struct {
	Claims []rig.Claim
	Most   int // that are drawn
}

func (l Claims) caption() string {
	return "Each claim from sent to answered, in the lane of the instance that replied"
}

const lanePadding = 10.0

func (l Claims) svg() (template.HTML, Table) {
	verdicts := map[string]int{}
	bySending := func(a, b rig.Claim) int { return a.Sent.Compare(b.Sent) }
	claims := slices.SortedStableFunc(slices.Values(l.Claims), bySending)
	l.Claims = claims[:min(len(claims), l.Most)]
	for _, claim := range l.Claims {
		verdicts[claim.Verdict]++
	}
	table := Table{Header: []string{"verdict", "claims"}}
	for _, verdict := range slices.Sorted(maps.Keys(verdicts)) {
		table.Rows = append(table.Rows, []string{verdict, Number(float64(verdicts[verdict]))})
	}
	return l.draw(verdicts), table
}

func (l Claims) draw(verdicts map[string]int) template.HTML {
	c := &canvas{}
	c.legend(verdicts)
	x := scale{from: 90, to: width - 10}
	lanes := map[string][]rig.Claim{}
	since := func(t time.Time) float64 { return rig.Milliseconds(t.Sub(l.Claims[0].Sent)) }
	for _, claim := range l.Claims {
		x.high = max(x.high, since(claim.Received))
		lanes[claim.Instance] = append(lanes[claim.Instance], claim)
	}
	top := Number(c.height)
	for _, instance := range slices.Sorted(maps.Keys(lanes)) {
		c.lane(instance, lanes[instance], func(t time.Time) float64 { return x.at(since(t)) })
	}
	c.xAxis(x, top, "ms since the first claim was sent")
	return c.drawing(fmt.Sprintf("%s: %d claims", l.caption(), len(l.Claims)))
}

// legend explains the colours.
func (c *canvas) legend(verdicts map[string]int) {
	x, y := 90.0, 4.0
	for _, verdict := range slices.Sorted(maps.Keys(verdicts)) {
		if x+200 > width+40 {
			x, y = 90, y+20
		}
		c.add(`<rect class="key %s" x="%g" y="%g" width="12" height="12" rx="2"/><text x="%g" y="%g">%d %s</text>`,
			escape(verdict), x, y, x+18, y+10, verdicts[verdict], escape(strings.ReplaceAll(verdict, "_", " ")))
		x += 200
	}
	c.height = y + 20
}

// lane draws the claims of an instance, at the place of each time.
func (c *canvas) lane(instance string, claims []rig.Claim, at func(time.Time) float64) {
	step := min(4, max(0.25, 150/float64(len(claims))))
	height := step*float64(len(claims)) + 2*lanePadding
	c.addBehind(`<rect class="band" x="90" y="%.1f" width="%g" height="%.1f"/>`, c.height, width-100, height)
	c.add(`<text x="80" y="%.1f" text-anchor="end">%s</text>`, c.height+height/2+4, escape(instance))
	paths := map[string]*strings.Builder{}
	for i, claim := range claims {
		if paths[claim.Verdict] == nil {
			paths[claim.Verdict] = &strings.Builder{}
		}
		fmt.Fprintf(paths[claim.Verdict], "M%.1f %.1fH%.1f", at(claim.Sent), c.height+lanePadding+step*float64(i),
			max(at(claim.Received), at(claim.Sent)+0.6))
	}
	for _, verdict := range slices.Backward(slices.Sorted(maps.Keys(paths))) { // "accepted" is last, and on top
		c.add(`<path class="line %s" d="%s"><title>%s</title></path>`, escape(verdict), paths[verdict],
			escape(verdict))
	}
	c.height += height + 4
}

// Lanes draws named spans of time in named rows.
type Lanes struct {
	Caption string
	Unit    string // of the time
	Rows    []Lane
}

// A Lane is one row.
type Lane struct {
	Name  string
	Spans []Span
}

// A Span lasts from From to To. A span of no length is a moment, drawn as a
// mark.
type Span struct {
	Name     string
	Kind     Kind
	From, To float64
}

// A Kind decides a span's colour.
type Kind string

// The kinds of spans.
const (
	Hold  Kind = "hold"  // a process takes itself for the holder of a lock
	Call  Kind = "call"  // a call of a lock
	Fault Kind = "fault" // something fails
)

var kindNames = map[Kind]string{
	Hold: "takes itself for the holder", Call: "call", Fault: "fault",
}

func (l Lanes) caption() string { return l.Caption }

const laneLimit = 190.0

func (l Lanes) svg() (template.HTML, Table) {
	c, x := &canvas{height: 24}, scale{to: width - 10}
	for _, row := range l.Rows {
		x.from = beside(x.from, row.Name, laneLimit)
	}
	c.kinds(l.Rows, x.from)
	table := Table{Header: []string{"", "what", "from, " + l.Unit, "to, " + l.Unit}}
	for _, row := range l.Rows {
		for _, s := range row.Spans {
			x.high = max(x.high, s.To)
			table.Rows = append(table.Rows, []string{row.Name, s.Name, Number(s.From), Number(s.To)})
		}
	}
	for _, row := range l.Rows {
		c.addBehind(`<rect class="band" x="%g" y="%.1f" width="%g" height="24"/>`, x.from, c.height, x.to-x.from)
		c.add(`<text x="%g" y="%.1f" text-anchor="end">%s</text>`, x.from-10, c.height+16, escape(row.Name))
		for _, s := range row.Spans {
			c.span(s, x)
		}
		c.height += 28
	}
	c.xAxis(x, "24", l.Unit)
	return c.drawing(l.Caption), table
}

// kinds explains the colours of the spans in rows, from x on.
func (c *canvas) kinds(rows []Lane, x float64) {
	found := map[Kind]bool{}
	for _, row := range rows {
		for _, s := range row.Spans {
			found[s.Kind] = true
		}
	}
	for _, kind := range []Kind{Hold, Call, Fault} {
		if found[kind] {
			c.add(`<rect class="span %s" x="%g" y="4" width="12" height="12" rx="2"/><text x="%g" y="14">%s</text>`,
				kind, x, x+18, kindNames[kind])
			x += 220
		}
	}
}

// span draws s in the row at c.height, with its name if there is room for it.
func (c *canvas) span(s Span, x scale) {
	from, length := x.at(s.From), x.at(s.To)-x.at(s.From)
	if s.To == s.From {
		c.add(`<path class="span %s" d="M%.1f %.1f l5 8 l-5 8 l-5 -8z"><title>%s</title></path>`, s.Kind, from,
			c.height+4, escape(s.Name))
		return
	}
	c.add(`<rect class="span %s" x="%.1f" y="%.1f" width="%.1f" height="16" rx="2"><title>%s, from %s to %s</title></rect>`,
		s.Kind, from, c.height+4, max(1.5, length), escape(s.Name), Number(s.From), Number(s.To))
}
