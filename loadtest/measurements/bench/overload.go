package bench

import "fmt"

// overloads are what the service makes of more claims than it can.
var overloads = section{
	name: "overload", measure: (*bench).measureOverload,
	tables: []table{{"overload", []string{
		"", "due/s", "sent/s", "cores left", "made/s", "made / peak", "p50, ms", "slowest, ms", "refused/s",
		"p99 of a refusal, ms",
		"without a reply", "to normal, ms", "MB",
	}, overloadRows()}},
	limits: []limit{
		{"claims made at 2 × the peak / at the peak, one instance",
			median(oneInstance.under(double).madeOfPeak()), 0.8, atLeast},
		{"claims made at 4 × the peak / at the peak, one instance",
			median(oneInstance.under(fourfold).madeOfPeak()), 0.8, atLeast},
		{"claims made at 2 × the peak / at the peak, behind nginx",
			median(behindNginx.under(double).madeOfPeak()), 0.8, atLeast},
		{"claims made at 4 × the peak / at the peak, behind nginx",
			median(behindNginx.under(fourfold).madeOfPeak()), 0.8, atLeast},
		{"slowest success in a crowd (ms)", inCrowds(crowdFigures.madeMax), 3000, atMost},
		{"p99 of a refusal in a crowd (ms)", inCrowds(crowdFigures.refusedP99), 250, atMost},
		{"claims of a crowd without a reply", inCrowds(crowdFigures.unanswered), 0, atMost},
		{"time to normal after a crowd (ms)", inCrowds(crowdFigures.timeToNormal), 1000, atMost},
		{"service memory in a crowd (MB)", inCrowds(crowdFigures.memory), 256, atMost},
	},
}

// A crowd offers claims at a rate in terms of the peak. Its clients leave the servers
// all the CPU time that they want, or share the cores with them.
type crowd struct {
	rate   float64
	shares bool
}

var (
	double, fourfold = crowd{2, false}, crowd{4, false}

	crowds = []crowd{{0.5, false}, {1, false}, double, fourfold, {2, true}, {4, true}}
)

// String is part of the names of figures.
func (c crowd) String() string {
	if c.shares {
		return fmt.Sprintf("%gx shared", c.rate)
	}
	return fmt.Sprintf("%gx", c.rate)
}

// A siteName is what crowds claim from.
type siteName struct{ name, label string }

var (
	oneInstance = siteName{"overload/direct", "one instance"}
	behindNginx = siteName{"overload/nginx", "behind nginx"}
)

func (s siteName) peak() figure { return figure{s.name + " peak", "1/s"} }

// under returns the figures of a crowd.
func (s siteName) under(c crowd) crowdFigures {
	return crowdFigures{figure{s.name + " " + c.String(), ""}}
}

// crowdFigures are what was made of a crowd.
type crowdFigures struct{ figure }

func (c crowdFigures) coresLeft() figure    { return c.with("cores left", "cores") }
func (c crowdFigures) due() figure          { return c.with("due", "1/s") }
func (c crowdFigures) sent() figure         { return c.with("sent", "1/s") }
func (c crowdFigures) made() figure         { return c.with("made", "1/s") }
func (c crowdFigures) madeOfPeak() figure   { return c.with("made of peak", "") }
func (c crowdFigures) refused() figure      { return c.with("refused", "1/s") }
func (c crowdFigures) unanswered() figure   { return c.with("unanswered", "") }
func (c crowdFigures) madeP50() figure      { return c.with("made p50", "ms") }
func (c crowdFigures) madeP99() figure      { return c.with("made p99", "ms") }
func (c crowdFigures) madeMax() figure      { return c.with("made max", "ms") }
func (c crowdFigures) refusedP99() figure   { return c.with("refused p99", "ms") }
func (c crowdFigures) connectP99() figure   { return c.with("connect p99", "ms") }
func (c crowdFigures) timeToNormal() figure { return c.with("time to normal", "ms") }
func (c crowdFigures) memory() figure       { return c.with("memory", "MB") }

func overloadRows() (rows []row) {
	for _, site := range []siteName{oneInstance, behindNginx} {
		for _, c := range crowds {
			label := fmt.Sprintf("%s, %g × the peak", site.label, c.rate)
			if c.shares {
				label += ", sharing the cores"
			}
			f := site.under(c)
			rows = append(rows, row{label, []cell{
				number(f.due()), number(f.sent()), number(f.coresLeft()), number(f.made()), spread(f.madeOfPeak()),
				number(f.madeP50()), number(f.madeMax()), number(f.refused()), number(f.refusedP99()),
				number(f.unanswered()), number(f.timeToNormal()), number(f.memory()),
			}})
		}
	}
	return rows
}

// inCrowds is the highest median of a figure of the crowds that are larger than
// the capacity and leave the servers all CPU time.
func inCrowds(of func(crowdFigures) figure) func(Figures) float64 {
	return highest(of(oneInstance.under(double)), of(oneInstance.under(fourfold)),
		of(behindNginx.under(double)), of(behindNginx.under(fourfold)))
}
