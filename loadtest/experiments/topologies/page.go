package topologies

import (
	"fmt"

	"example.com/flashsale/loadtest/experiments/pageview"
	"example.com/flashsale/loadtest/report"
	"example.com/flashsale/loadtest/rig"
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
	down := report.Bars{Caption: "From the master's end to the first claim that is accepted after the last one that failed", Unit: "s"}
	s := report.Section{Title: "Claims", Verdict: report.Right, Table: report.Table{
		Header: []string{"", "rounds", "sold out", "accepted", "orders", "oversold", "duplicates", "undersold", "acked missing", "503s", "right"},
	}}
	for _, sale := range sales {
		name := sale.Topology
		if sale.Failover {
			name += ", failover"
			down.Bars = append(down.Bars, report.Bar{Name: name, Value: sale.Unavailable})
		}
		s.Table.Rows = append(s.Table.Rows, []string{
			name, fmt.Sprint(sale.Rounds), fmt.Sprint(sale.SoldOut), fmt.Sprint(sale.Accepted), fmt.Sprint(sale.Orders), fmt.Sprint(sale.Oversold),
			fmt.Sprint(sale.Duplicates), fmt.Sprint(sale.Undersold), fmt.Sprint(sale.Missing), fmt.Sprint(sale.Failed), rig.Mark(sale.Pass),
		})
		if !sale.Pass {
			s.Verdict = report.Wrong
		}
	}
	s.Charts = []report.Chart{down}
	return s
}
