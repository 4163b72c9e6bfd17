package topologies

import (
	"fmt"

	"example.com/flashsale/loadtest/experiments/pageview"
	"example.com/flashsale/loadtest/report"
	"example.com/flashsale/loadtest/rig"
	"example.com/flashsale/loadtest/verdict"
)

// writePage writes out/topologies/report.html.
func (r Rows) writePage(e rig.Environment, pass bool) error {
	return report.Write("topologies", report.Report{
		Title: "Redis in every topology", Pass: pass, Environment: e,
		Summary:  "The same claims and page views on one Redis server, with replicas, under Sentinel and on a Cluster, with failovers in the middle.",
		Sections: []report.Section{salesSection(r.Sales), pageview.Section("Page views", r.Views)},
	})
}

func salesSection(sales []Sale) report.Section {
	down := report.Bars{Caption: "From the master's end until the claims that met it have their replies, and none fails any more", Unit: "s"}
	for _, sale := range sales {
		if sale.Failover {
			down.Bars = append(down.Bars, report.Bar{Name: sale.name(), Value: sale.Unavailable})
		}
	}
	return report.Section{
		Title: "Claims", Verdicts: verdicts(sales), Charts: []report.Chart{down}, Table: salesColumns.Table(sales),
	}
}

func verdicts(sales []Sale) (all []verdict.Verdict) {
	for _, s := range sales {
		all = append(all, s.Verdict)
	}
	return all
}

func (sale Sale) name() string {
	if sale.Failover {
		return sale.Topology + ", failover"
	}
	return sale.Topology
}

var salesColumns = report.Columns[Sale]{
	report.Main("", Sale.name),
	report.Detail("rounds", func(s Sale) int { return s.Rounds }),
	report.Detail("sold out", func(s Sale) int { return s.SoldOut }),
	report.Detail("accepted", func(s Sale) int { return s.Accepted }),
	report.Main("orders", func(s Sale) int { return s.Orders }),
	report.Main("over", func(s Sale) int { return s.Oversold }),
	report.Main("twice", func(s Sale) int { return s.Duplicates }),
	report.Main("under", func(s Sale) int { return s.Undersold }),
	report.Main("acked missing", func(s Sale) int { return s.AckedMissing }),
	report.Main("503s", func(s Sale) int { return s.Failed }),
	report.Detail("met it", func(s Sale) string { return s.inFailover(fmt.Sprint(s.Met)) }),
	report.Main("outage", func(s Sale) string { return s.inFailover(fmt.Sprintf("%.1f s", s.Unavailable)) }),
	report.Main("verdict", func(s Sale) verdict.Verdict { return s.Verdict }),
}

// inFailover returns text, unless nothing failed over.
func (sale Sale) inFailover(text string) string {
	if sale.Failover {
		return text
	}
	return "–"
}
