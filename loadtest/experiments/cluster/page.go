package cluster

import (
	"fmt"
	"slices"
	"strings"

	"example.com/flashsale/loadtest/report"
	"example.com/flashsale/loadtest/stats"
	"example.com/flashsale/loadtest/verdict"
)

// writePage writes out/cluster/report.html.
func (r Result) writePage() error {
	return report.Write("cluster", report.Report{
		Title: "A database of several servers", Pass: r.Pass, Environment: r.Environment,
		Summary: strings.TrimSpace("Sales on a primary whose replica is promoted, and on three members of a Galera cluster or a " +
			"replication group behind HAProxy, with kills, freezes and cut-offs in the middle. Every promise is judged by " +
			"every server's own data. " + r.notRun()),
		Sections: []report.Section{r.promotionsSection(), r.ratesSection(), r.disruptionsSection()},
	})
}

// notRun is what was left out, and why.
func (r Result) notRun() string {
	if len(r.NotRun) == 0 {
		return ""
	}
	return "Not run: " + strings.Join(r.NotRun, "; ") + "."
}

func (r Result) promotionsSection() report.Section {
	s := report.Section{
		Title: "The primary dies", Table: promotionsTable(r.Promotions),
		Text: "After the primary's end the replica is promoted. Acknowledged orders that it does not have are missing.",
	}
	for _, p := range r.Promotions {
		judge(&s, p.Verdict, p.Violations)
	}
	return s
}

func (r Result) ratesSection() report.Section {
	bars := report.Bars{Caption: "Claims of one coupon, by three instances", Unit: "1/s"}
	s := report.Section{
		Title: "Rates", Table: ratesTable(r.Rates),
		Text: "bf and cert are the transactions, per 1,000 orders, that a node has aborted in favour of another node's: while they ran, and at certification.",
	}
	for _, rate := range r.Rates {
		judge(&s, rate.Verdict, rate.Violations)
		bars.Bars = append(bars.Bars, report.Bar{
			Name: rate.name(), Value: stats.Quantile(rate.PerSecond, 0.5),
			Low: slices.Min(rate.PerSecond), High: slices.Max(rate.PerSecond), Other: rate.Database == oneServer,
		})
	}
	s.Charts = []report.Chart{bars}
	return s
}

func (r Result) disruptionsSection() report.Section {
	s := report.Section{Title: "Members and HAProxy fail", Table: disruptionColumns.Table(r.Disruptions)}
	for _, d := range r.Disruptions {
		s.Charts = append(s.Charts, report.Curves{
			Caption: fmt.Sprintf("%s: %s, %s", d.Cluster, d.Fault, d.Routing),
			XName:   "s since the fault", YName: "replies/s",
			Series: d.Outage.curves, Marks: []report.Span{{Name: d.Fault, Kind: report.Fault, To: d.Outage.Lasted}},
		})
		judge(&s, d.Verdict, d.Violations)
	}
	return s
}

// judge adds the result of a row to its section.
func judge(s *report.Section, v verdict.Verdict, violations []string) {
	s.Verdicts, s.Problems = append(s.Verdicts, v), append(s.Problems, violations...)
}
