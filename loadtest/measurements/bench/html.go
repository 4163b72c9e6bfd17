package bench

import (
	"fmt"
	"time"

	"example.com/flashsale/loadtest/report"
)

// writeHTML writes out/bench/report.html. latencies are those of the open model, and
// audited is how many acknowledged claims were compared with the orders.
func writeHTML(r Report, latencies map[string][]time.Duration, audited int) error {
	counts := map[string]int{}
	for _, t := range r.Targets {
		counts[t.Verdict]++
	}
	page := report.Report{
		Title: "Benchmarks", Pass: len(r.Failures) == 0, Environment: r.Environment,
		Summary: fmt.Sprintf("Bars are medians of %d repetitions, lines show the lowest and the highest; compare them with each other, not with other machines. Of %d targets %d are met, %d missed, %d undecided, %d void, %d not measured.",
			r.Repetitions, len(r.Targets), counts[met], counts[missed], counts[undecided], counts[void],
			counts[notMeasured]),
		Sections: []report.Section{{Title: "Targets", Problems: r.Failures, Table: targetTable(r.Targets)}},
	}
	if page.Pass && audited > 0 {
		page.Summary = fmt.Sprintf("%s claims were acknowledged, and the database had no fewer orders. ",
			report.Number(float64(audited))) + page.Summary
	}
	if claims.selected() {
		page.Sections = append(page.Sections, r.Figures.claimsCharts(), latencyCharts(latencies))
	}
	if locks.selected() {
		page.Sections = append(page.Sections, r.Figures.locksCharts())
	}
	if growth.selected() {
		page.Sections = append(page.Sections, r.Figures.growthCharts())
	}
	return report.Write("bench", page)
}

func (f Figures) claimsCharts() report.Section {
	strategyBars := func(of func(variant) figure) (all []bar) {
		for _, v := range append([]variant{empty, byHand}, strategies...) {
			all = append(all, bar{v.name, of(v), v.program != "api"})
		}
		return all
	}
	return report.Section{
		Title: "Claims by commit strategy",
		Text:  "The empty handler replies 201 and does nothing else. The flow of the articles by hand, and the service with each setting of COMMIT, accept a claim only when it is durable.",
		Charts: []report.Chart{
			f.chart("CPU time of the service for a claim", "µs",
				strategyBars(func(v variant) figure { return oneInstanceRate(v).cpu() })),
			f.chart("Claims accepted, one instance", "1/s",
				strategyBars(func(v variant) figure { return oneInstanceRate(v).figure })),
			f.chart("Claims accepted, two instances behind nginx", "1/s",
				strategyBars(func(v variant) figure { return pairRate(v).figure })),
			f.chart("Claims refused, one instance", "1/s", []bar{
				{"sold out", soldOut.figure, false}, {"already claimed", alreadyClaimed.figure, false},
			}),
		},
	}
}

func latencyCharts(latencies map[string][]time.Duration) report.Section {
	chart := func(caption string, at func(variant) arrivals) report.Chart {
		curves := report.Curves{Caption: caption, XName: "percentile", YName: "ms", LogY: true, Percentiles: true}
		for _, v := range []variant{empty, floor, grouped} {
			if sample := latencies[at(v).name]; len(sample) > 0 {
				curves.Series = append(curves.Series, report.Quantiles(v.name, sample))
			}
		}
		return curves
	}
	return report.Section{
		Title: "Latency in an open model",
		Text: "The time under which each share of the replies arrived, at a quarter and at half of the highest rate of " +
			"grouped. It counts from the time at which the claim was due. Floor is the least durable claim: one reply of " +
			"Redis and a shared commit.",
		Charts: []report.Chart{chart("At a quarter", atQuarter), chart("At half", atHalf)},
	}
}

func (f Figures) locksCharts() report.Section {
	s := report.Section{Title: "Locks",
		Text: "Pairs of acquiring and releasing a lock that nobody else wants, and hand-overs of one that all want. Grey bars are other libraries, and the bare commands."}
	lockBars := func(of func(lockName) figure) (all []bar) {
		for _, l := range append([]lockName{raw, own, batched}, peerLocks...) {
			all = append(all, bar{l.name, of(l), l != own && l != batched})
		}
		return all
	}
	for _, p := range []pairs{pairs1, pairs128, pairs512} {
		s.Charts = append(s.Charts,
			f.chart(fmt.Sprintf("Uncontended pairs, %d goroutines", p.goroutines), "1/s", lockBars(p.of)))
	}
	s.Charts = append(s.Charts,
		f.chart("Contended hand-overs", "1/s", lockBars(func(l lockName) figure { return handOvers(l).figure })))
	return s
}

func (f Figures) growthCharts() report.Section {
	s := report.Section{Title: "Growth"}
	for _, sizes := range growthSizes {
		if len(sizes) == 1 { // no curve
			continue
		}
		what := sizes[0].kind.name
		curve := func(name, unit string, of func(rate) figure) report.Curves {
			series := report.Series{Name: name}
			for _, size := range sizes {
				if fig := f.find(of(size.rate()).name); fig != nil {
					series.Points = append(series.Points, report.Point{X: float64(size.count), Y: fig.Median})
				}
			}
			return report.Curves{Caption: name + " by number of " + what, XName: what, YName: unit, LogX: true,
				Series: []report.Series{series}}
		}
		s.Charts = append(s.Charts, curve("Claims accepted", "1/s", func(r rate) figure { return r.figure }),
			curve("Memory of the service", "MB", rate.memory))
	}
	return s
}
