package report

import (
	"fmt"
	"html/template"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"example.com/flashsale/loadtest/rig"
)

// Lanes draws named spans of time in named rows.
type Lanes struct {
	Caption string
	Unit    string // of the time
	Rows    []Lane

	stacked bool // many spans: each is a line of its own, without its name
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

// A Kind decides a span's colour. The verdict on a claim is one, too.
type Kind string

// The kinds of spans.
const (
	Hold  Kind = "hold"  // a process takes itself for the holder of a lock
	Call  Kind = "call"  // a call of a lock
	Fault Kind = "fault" // something fails
)

// Claims draws each claim of a burst from sent to answered, in the lane of the
// instance that replied, in the order of sending: those that were sent first, and no more than most.
func Claims(claims []rig.Claim, most int) Lanes {
	bySending := func(a, b rig.Claim) int { return a.Sent.Compare(b.Sent) }
	claims = slices.SortedStableFunc(slices.Values(claims), bySending)
	lanes := map[string][]Span{}
	for _, c := range claims[:min(len(claims), most)] {
		since := func(t time.Time) float64 { return rig.Milliseconds(t.Sub(claims[0].Sent)) }
		s := Span{c.Verdict, Kind(c.Verdict), since(c.Sent), since(c.Received)}
		lanes[c.Instance] = append(lanes[c.Instance], s)
	}
	l := Lanes{Caption: "Each claim from sent to answered, in the lane of the instance that replied",
		Unit: "ms since the first claim was sent", stacked: true}
	for _, instance := range slices.Sorted(maps.Keys(lanes)) {
		l.Rows = append(l.Rows, Lane{instance, lanes[instance]})
	}
	return l
}

// A drawn is a chart as the template needs it.
type drawn struct {
	Caption string
	Drawing template.HTML
	Numbers Table // and words, which say the same
}

const (
	laneLimit   = 190.0
	lanePadding = 10.0
)

func (l Lanes) draw() drawn {
	c, x := &canvas{}, scale{to: width - 10}
	found := map[Kind]int{}
	for _, row := range l.Rows {
		x.from = min(laneLimit, max(x.from, 18+7*float64(utf8.RuneCountInString(row.Name))))
		for _, s := range row.Spans {
			x.high = max(x.high, s.To)
			found[s.Kind]++
		}
	}
	c.legend(found, x.from)
	top := Number(c.height)
	for _, row := range l.Rows {
		c.lane(row, l.stacked, x)
	}
	c.xAxis(x, top, l.Unit)
	return drawn{l.Caption, c.drawing(l.Caption), l.numbers(found)}
}

// numbers says the same as the drawing: each span or, of many, how many there are of each kind.
func (l Lanes) numbers(found map[Kind]int) Table {
	if l.stacked {
		t := Table{Header: []string{"verdict", "claims"}}
		for _, kind := range slices.Sorted(maps.Keys(found)) {
			t.Add(kind, Number(float64(found[kind])))
		}
		return t
	}
	t := Table{Header: []string{"", "what", "from, " + l.Unit, "to, " + l.Unit}}
	for _, row := range l.Rows {
		for _, s := range row.Spans {
			t.Add(row.Name, s.Name, Number(s.From), Number(s.To))
		}
	}
	return t
}

var kindNames = map[Kind]string{
	Hold: "takes itself for the holder", Call: "call", Fault: "fault",
}

// legend explains the colours of what was found, from x on.
func (c *canvas) legend(found map[Kind]int, from float64) {
	x, y := from, 4.0
	for _, kind := range slices.Sorted(maps.Keys(found)) {
		if x+200 > width+40 {
			x, y = from, y+20
		}
		name, known := kindNames[kind]
		if !known {
			name = fmt.Sprintf("%d %s", found[kind], strings.ReplaceAll(string(kind), "_", " "))
		}
		c.add(`<rect class="key %s" x="%g" y="%g" width="12" height="12" rx="2"/><text x="%g" y="%g">%s</text>`,
			escape(string(kind)), x, y, x+18, y+10, escape(name))
		x += 220
	}
	c.height = y + 20
}

// lane draws a row.
func (c *canvas) lane(row Lane, stacked bool, x scale) {
	height, step := 24.0, 0.0
	if stacked {
		step = min(4, max(0.25, 150/float64(len(row.Spans))))
		height = step*float64(len(row.Spans)) + 2*lanePadding
	}
	c.addBehind(`<rect class="band" x="%g" y="%.1f" width="%g" height="%.1f"/>`, x.from, c.height, x.to-x.from, height)
	c.add(`<text x="%g" y="%.1f" text-anchor="end">%s</text>`, x.from-10, c.height+height/2+4, escape(row.Name))
	if stacked {
		c.lines(row.Spans, step, x)
	} else {
		for _, s := range row.Spans {
			c.span(s, x)
		}
	}
	c.height += height + 4
}

// lines draws spans below each other, those of one kind as one path.
func (c *canvas) lines(spans []Span, step float64, x scale) {
	paths := map[Kind]*strings.Builder{}
	for i, s := range spans {
		if paths[s.Kind] == nil {
			paths[s.Kind] = &strings.Builder{}
		}
		fmt.Fprintf(paths[s.Kind], "M%.1f %.1fH%.1f", x.at(s.From), c.height+lanePadding+step*float64(i),
			max(x.at(s.To), x.at(s.From)+0.6))
	}
	for _, kind := range slices.Backward(slices.Sorted(maps.Keys(paths))) { // "accepted" is last, and on top
		name := escape(string(kind))
		c.add(`<path class="line %s" d="%s"><title>%s</title></path>`, name, paths[kind], name)
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
