package soak

import (
	"fmt"
	"strings"
	"time"

	"example.com/flashsale/loadtest/report"
	"example.com/flashsale/loadtest/rig"
)

// writePage writes out/soak/report.html.
func (r *run) writePage(result Report) error {
	claims := 0
	for _, n := range result.Verdicts {
		claims += n
	}
	return report.Write("soak", report.Report{
		Title: "A sale whose parts fail", Pass: result.Pass, Environment: result.Environment,
		Summary: fmt.Sprintf("%d claims in %.0f s, %d faults, %d acknowledged orders, all looked up in the database. The longest time without a verdict was %.1f s, the longest wait of a claim %.1f s.",
			claims, result.Seconds, len(result.Outages), result.Acknowledged, result.LongestGap, result.LongestWait),
		Sections: []report.Section{r.repliesSection(result), {Title: "Faults", Table: faultsTable(result.Outages)},
			r.waitsSection()},
	})
}

// repliesSection draws the replies of each second, the faults and the gaps.
func (r *run) repliesSection(result Report) report.Section {
	s := report.Section{Title: "Replies", Verdict: rig.Verdict(result.Pass, false),
		Text: strings.Join(result.Violations, " ")}
	accepted, refused, unknown := report.Series{Name: "accepted"}, report.Series{Name: "refused with a verdict"},
		report.Series{Name: "without a verdict (503 or lost)"}
	for i, n := range r.history.seconds {
		x := float64(i)
		accepted.Points = append(accepted.Points, report.Point{X: x, Y: float64(n.accepted)})
		refused.Points = append(refused.Points, report.Point{X: x, Y: float64(n.refused)})
		unknown.Points = append(unknown.Points, report.Point{X: x, Y: float64(n.unknown)})
	}
	faults := report.Lane{Name: "faults"}
	for _, o := range result.Outages {
		faults.Spans = append(faults.Spans,
			report.Span{Name: o.What, Kind: report.Fault, From: o.Second, To: o.Second + o.Down})
	}
	gaps := report.Lane{Name: "gaps"}
	for _, g := range r.history.gaps {
		gaps.Spans = append(gaps.Spans, report.Span{
			Name: "no claim is answered", Kind: report.Gap, From: g.begin.Sub(r.history.begin).Seconds(),
			To: g.end.Sub(r.history.begin).Seconds(),
		})
	}
	s.Charts = []report.Chart{
		report.Curves{Caption: "Replies in each second; faults are shaded", XName: "s", YName: "replies/s",
			Series: []report.Series{accepted, refused, unknown}, Marks: faults.Spans},
		report.Lanes{Caption: fmt.Sprintf("Every fault, and every time of %s or more without a verdict on any claim",
			gapLimit), Unit: "s", Rows: []report.Lane{faults, gaps}},
	}
	return s
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

func (r *run) waitsSection() report.Section {
	return report.Section{Title: "Waits", Charts: []report.Chart{report.Curves{
		Caption: "The time under which each share of the replies arrived, through all faults",
		XName:   "% of the claims", YName: "ms", LogY: true,
		Series: []report.Series{report.Quantiles("all claims", atLeastAMicrosecond(r.history.latencies))},
	}}}
}

// atLeastAMicrosecond keeps a logarithmic axis within reason.
func atLeastAMicrosecond(samples []time.Duration) []time.Duration {
	all := make([]time.Duration, len(samples))
	for i, d := range samples {
		all[i] = max(d, time.Microsecond)
	}
	return all
}
