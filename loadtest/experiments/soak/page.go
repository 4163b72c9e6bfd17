package soak

import (
	"fmt"
	"slices"
	"time"

	"example.com/flashsale/loadtest/history"
	"example.com/flashsale/loadtest/report"
	"example.com/flashsale/loadtest/verdict"
)

// writePage writes out/soak/report.html.
func (r Report) writePage() error {
	return report.Write("soak", report.Report{
		Title: "A sale whose parts fail", Pass: r.Pass, Environment: r.Environment,
		Summary: fmt.Sprintf("%d claims in %.0f s, %d faults, %d acknowledged orders, all looked up in the database. The longest time without a verdict was %.1f s, the longest wait of a claim %.1f s.",
			len(r.claims), r.Seconds, len(r.Outages), r.Acknowledged, r.LongestGap, r.LongestWait),
		Sections: []report.Section{
			{Title: "Replies", Verdicts: []verdict.Verdict{verdict.Passed(r.Pass, false)}, Problems: r.Violations,
				Table: r.repliesTable()},
			{Title: "Faults", Table: faultsTable(r.Outages), Charts: r.charts()},
			{Title: "Waits", Charts: []report.Chart{report.Curves{
				Caption: "The time under which each share of the replies arrived, through all faults",
				XName:   "percentile", YName: "ms", LogY: true, Percentiles: true,
				Series: []report.Series{report.Quantiles("all claims", atLeastAMicrosecond(r.latencies))},
			}}},
		},
	})
}

// gapLimit is how long a time without a verdict is drawn as a gap.
const gapLimit = 500 * time.Millisecond

// charts draws the replies of each second, the faults and the gaps.
func (r Report) charts() []report.Chart {
	faults, gaps := report.Lane{Name: "faults"}, report.Lane{Name: "gaps"}
	for _, o := range r.Outages {
		faults.Spans = append(faults.Spans,
			report.Span{Name: o.What, Kind: report.Fault, From: o.Second, To: o.Second + o.Down})
	}
	for _, g := range r.gaps {
		if g.Took() >= gapLimit {
			gaps.Spans = append(gaps.Spans, report.Span{Name: "no claim is answered", Kind: report.Gap,
				From: g.Begin.Sub(r.begin).Seconds(), To: g.End.Sub(r.begin).Seconds()})
		}
	}
	return []report.Chart{
		report.Curves{Caption: "Replies in each second; faults are shaded", XName: "s", YName: "replies/s",
			Series: history.Curves(r.claims, r.begin, r.begin, time.Second), Marks: faults.Spans},
		report.Lanes{Caption: fmt.Sprintf("Every fault, and every time of %s or more without a verdict on any claim",
			gapLimit), Unit: "s", Rows: []report.Lane{faults, gaps}},
	}
}

// faultsTable lists the outages.
func faultsTable(outages []outage) report.Table {
	t := report.Table{Header: []string{
		"fault", "at, s", "lasted, s", "longest wait of a claim, s", "all coupons sell again after, s",
		"the other instance sells after, s",
	}}
	for _, o := range outages {
		other := ""
		if o.OtherAfter > 0 {
			other = fmt.Sprintf("%.1f", o.OtherAfter)
		}
		t.Add(o.What, fmt.Sprintf("%.1f", o.Second), fmt.Sprintf("%.1f", o.Down), fmt.Sprintf("%.1f", o.LongestWait),
			fmt.Sprintf("%.1f", o.SellsAfter), other)
	}
	return t
}

// atLeastAMicrosecond keeps a logarithmic axis within reason.
func atLeastAMicrosecond(samples []time.Duration) []time.Duration {
	all := slices.Clone(samples)
	for i, d := range all {
		all[i] = max(d, time.Microsecond)
	}
	return all
}
