package bench

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"example.com/flashsale/loadtest/report"
)

// writePage writes out/bench/report.html.
func (b *bench) writePage(r Report) error {
	met := 0
	for _, t := range r.Targets {
		if t.Met() {
			met++
		}
	}
	page := report.Report{
		Title: "Benchmarks", Pass: true, Environment: r.Environment,
		Summary: fmt.Sprintf("Every acknowledged claim was found in the database. Bars are medians of %d repetitions, lines show the lowest and the highest; compare them with each other, not with other machines. %d of %d targets are met.",
			r.Repetitions, met, len(r.Targets)),
		Sections: []report.Section{{Title: "Targets", Table: targetTable(r.Targets)}},
	}
	for _, s := range []report.Section{b.claimsSection(), b.latencySection(), b.locksSection(), b.growthSection()} {
		if len(s.Charts) > 0 {
			page.Sections = append(page.Sections, s)
		}
	}
	return report.Write("bench", page)
}

// A subject is a bar of a chart. Others are what the rest is compared with.
type subject struct {
	name   string
	figure figure
	other  bool
}

// bars draws the subjects that were measured.
func (b *bench) bars(caption string, subjects []subject) []report.Chart {
	chart := report.Bars{Caption: caption}
	for _, s := range subjects {
		if f := b.byName[s.figure.name]; f != nil {
			chart.Unit = f.Unit
			chart.Bars = append(chart.Bars,
				report.Bar{Name: s.name, Value: f.Median, Low: f.Min, High: f.Max, Other: s.other})
		}
	}
	if len(chart.Bars) == 0 {
		return nil
	}
	return []report.Chart{chart}
}

// strategySubjects are the empty handler, the baseline and the strategies.
func strategySubjects(of func(variant) figure) (all []subject) {
	for _, v := range append([]variant{empty, byHand}, strategies...) {
		all = append(all, subject{v.name, of(v), v.program != "api"})
	}
	return all
}

func (b *bench) claimsSection() report.Section {
	return report.Section{
		Title: "Claims by commit strategy",
		Text:  "The empty handler replies 201 and does nothing else. The flow of the articles by hand, and the service with each setting of COMMIT, accept a claim only when it is durable.",
		Charts: slices.Concat(
			b.bars("Claims accepted, one instance",
				strategySubjects(func(v variant) figure { return direct(v).figure })),
			b.bars("Claims accepted, two instances behind nginx",
				strategySubjects(func(v variant) figure { return throughNginx(v).figure })),
			b.bars("CPU time of the service for a claim",
				strategySubjects(func(v variant) figure { return direct(v).cpu() })),
			b.bars("Claims refused, one instance", []subject{
				{"sold out", soldOut.figure, false}, {"already claimed", alreadyClaimed.figure, false},
			}),
		),
	}
}

func (b *bench) latencySection() report.Section {
	s := report.Section{Title: "Latency in an open model",
		Text: "Claims arrive at half the highest rate of grouped, and at a quarter of it. A latency counts from the time at which the claim was due."}
	chart := report.Curves{Caption: "The time under which each share of the replies arrived", XName: "% of the claims",
		YName: "ms", LogY: true}
	for _, name := range slices.Sorted(maps.Keys(b.latencies)) {
		chart.Series = append(chart.Series, report.Quantiles(strings.TrimPrefix(name, "open/"), b.latencies[name]))
	}
	if len(chart.Series) > 0 {
		s.Charts = []report.Chart{chart}
	}
	return s
}

func (b *bench) locksSection() report.Section {
	s := report.Section{Title: "Locks",
		Text: "Pairs of acquiring and releasing a lock that nobody else wants, and hand-overs of one that all want. Grey bars are other libraries, and the bare commands."}
	for _, p := range []pairs{pairs1, pairs128, pairs512} {
		s.Charts = append(s.Charts,
			b.bars(fmt.Sprintf("Uncontended pairs, %d goroutines", p.goroutines), lockSubjects(p.of))...)
	}
	s.Charts = append(s.Charts,
		b.bars("Contended hand-overs", lockSubjects(func(l lockName) figure { return handOvers(l).figure }))...)
	return s
}

func lockSubjects(of func(lockName) figure) (all []subject) {
	for _, l := range append([]lockName{raw, own, batched}, peerLocks...) {
		all = append(all, subject{l.name, of(l), l != own && l != batched})
	}
	return all
}

func (b *bench) growthSection() report.Section {
	s := report.Section{Title: "Growth"}
	for _, sizes := range growthSizes {
		what := sizes[0].kind.name
		rate, memory := report.Series{Name: "claims/s"}, report.Series{Name: "memory of the service, MB"}
		for _, size := range sizes {
			if r := size.rate(); b.measured(r.figure) {
				rate.Points = append(rate.Points, report.Point{X: float64(size.count), Y: b.median(r.figure)})
				memory.Points = append(memory.Points, report.Point{X: float64(size.count), Y: b.median(r.memory())})
			}
		}
		if len(rate.Points) > 0 {
			s.Charts = append(s.Charts,
				report.Curves{Caption: "Claims accepted by number of " + what, XName: what, YName: "1/s", LogX: true,
					Series: []report.Series{rate}},
				report.Curves{Caption: "Memory by number of " + what, XName: what, YName: "MB", LogX: true,
					Series: []report.Series{memory}})
		}
	}
	return s
}
