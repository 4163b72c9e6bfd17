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
	targets := report.Section{Title: "Targets", Table: report.Table{Header: []string{"target", "measured", "limit", ""}}}
	for _, t := range r.Targets {
		if t.Met() {
			met++
		}
		targets.Table.Rows = append(targets.Table.Rows, []string{t.Name, formatNumber(t.Value), t.limit(), t.verdict()})
	}
	page := report.Report{
		Title: "Benchmarks", Pass: true, Environment: r.Environment,
		Summary: fmt.Sprintf("Every acknowledged claim was found in the database. Bars are medians of %d repetitions, lines show the lowest and the highest; compare them with each other, not with other machines. %d of %d targets are met.",
			r.Repetitions, met, len(r.Targets)),
		Sections: []report.Section{targets},
	}
	for _, s := range []report.Section{b.claimsSection(), b.latencySection(), b.locksSection(), b.growthSection()} {
		if len(s.Charts) > 0 {
			page.Sections = append(page.Sections, s)
		}
	}
	return report.Write("bench", page)
}

// bars draws the named figures that were measured. Those in others are what the
// rest is compared with.
func (b *bench) bars(caption, unit, prefix string, names []string, others ...string) []report.Chart {
	chart := report.Bars{Caption: caption, Unit: unit}
	for _, name := range names {
		if f := b.byName[prefix+name]; f != nil {
			chart.Bars = append(chart.Bars, report.Bar{Name: name, Value: f.Median, Low: f.Min, High: f.Max, Other: slices.Contains(others, name)})
		}
	}
	if len(chart.Bars) == 0 {
		return nil
	}
	return []report.Chart{chart}
}

func (b *bench) claimsSection() report.Section {
	names := append([]string{"empty", "by hand"}, commits...)
	return report.Section{
		Title: "Claims by commit strategy",
		Text:  "The empty handler replies 201 and does nothing else. The flow of the articles by hand, and the service with each setting of COMMIT, accept a claim only when it is durable.",
		Charts: slices.Concat(
			b.bars("Claims accepted, one instance", "1/s", "claims/direct/", names, "empty", "by hand"),
			b.bars("Claims accepted, two instances behind nginx", "1/s", "claims/nginx/", names, "empty", "by hand"),
			b.bars("CPU time of the service for a claim", "us", "claims/direct/", withSuffix(names, " CPU"), "empty CPU", "by hand CPU"),
			b.bars("Claims refused, one instance", "1/s", "losers/", []string{"sold out", "already claimed"}),
		),
	}
}

func withSuffix(names []string, suffix string) []string {
	all := make([]string, len(names))
	for i, name := range names {
		all[i] = name + suffix
	}
	return all
}

func (b *bench) latencySection() report.Section {
	s := report.Section{Title: "Latency in an open model", Text: "Claims arrive at half the highest rate of grouped, and at a quarter of it. A latency counts from the time at which the claim was due."}
	chart := report.Curves{Caption: "The time under which each share of the replies arrived", XName: "% of the claims", YName: "ms", LogY: true}
	for _, name := range slices.Sorted(maps.Keys(b.latencies)) {
		chart.Series = append(chart.Series, report.Quantiles(strings.TrimPrefix(name, "open/"), b.latencies[name]))
	}
	if len(chart.Series) > 0 {
		s.Charts = []report.Chart{chart}
	}
	return s
}

func (b *bench) locksSection() report.Section {
	names := append([]string{"raw", "redislock", "redislock batched", "redisson"}, peerLocks...)
	s := report.Section{Title: "Locks", Text: "Pairs of acquiring and releasing a lock that nobody else wants, and hand-overs of one that all want. Grey bars are other libraries, and the bare commands."}
	others := append([]string{"raw"}, peerLocks...)
	for _, n := range []int{1, 128, 512} {
		s.Charts = append(s.Charts, b.bars(fmt.Sprintf("Uncontended pairs, %d goroutines", n), "1/s", fmt.Sprintf("pairs/%d/", n), names, others...)...)
	}
	s.Charts = append(s.Charts, b.bars("Contended hand-overs", "1/s", "contended/", names, others...)...)
	return s
}

func (b *bench) growthSection() report.Section {
	s := report.Section{Title: "Growth"}
	for _, g := range []struct {
		what   string
		counts []int
	}{{"orders", growthOrders}, {"coupons", growthCoupons}, {"connections", growthConns}} {
		rate, memory := report.Series{Name: "claims/s"}, report.Series{Name: "memory of the service, MB"}
		for _, n := range g.counts {
			if f := b.byName[fmt.Sprintf("growth/%d %s", n, g.what)]; f != nil {
				rate.Points = append(rate.Points, report.Point{X: float64(n), Y: f.Median})
				memory.Points = append(memory.Points, report.Point{X: float64(n), Y: b.Median(fmt.Sprintf("growth/%d %s memory", n, g.what))})
			}
		}
		if len(rate.Points) > 0 {
			s.Charts = append(s.Charts,
				report.Curves{Caption: "Claims accepted by number of " + g.what, XName: g.what, YName: "1/s", LogX: true, Series: []report.Series{rate}},
				report.Curves{Caption: "Memory by number of " + g.what, XName: g.what, YName: "MB", LogX: true, Series: []report.Series{memory}})
		}
	}
	return s
}
