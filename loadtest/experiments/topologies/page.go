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
		Title: "Claims", Verdicts: verdicts(sales), Charts: []report.Chart{down}, Table: salesTable(sales),
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

func salesTable(sales []Sale) report.Table {
	t := report.Table{Header: []string{
		"", "rounds", "sold out", "accepted", "orders", "over", "twice", "under", "acked missing", "503s",
		"met it", "outage", "verdict",
	}}
	for _, s := range sales {
		met, outage := "–", "–"
		if s.Failover {
			met, outage = fmt.Sprint(s.Met), fmt.Sprintf("%.1f s", s.Unavailable)
		}
		t.Add(s.name(), s.Rounds, s.SoldOut, s.Accepted, s.Orders, s.Oversold, s.Duplicates, s.Undersold,
			s.AckedMissing, s.Failed, met, outage, s.Verdict)
	}
	return t
}
