// Package topologies runs claims and page views on Redis in each topology, with
// failovers during the claims where the topology has one.
package topologies

import (
	"context"
	"fmt"

	"example.com/flashsale/internal/lab"
	"example.com/flashsale/loadtest/experiments/pageview"
	"example.com/flashsale/loadtest/report"
	"example.com/flashsale/loadtest/rig"
	"example.com/flashsale/loadtest/trial"
	"example.com/flashsale/loadtest/verdict"
)

// Run prints two tables and writes out/topologies/topologies.json.
func Run(ctx context.Context) error {
	return rig.With(func(s *rig.Stack) error { return run(ctx, s) }, rig.LargeDatabase...)
}

// Rows are the results in topologies.json.
type Rows struct {
	Sales []*Sale           `json:"sales"`
	Views []*pageview.Views `json:"views"`
}

func run(ctx context.Context, s *rig.Stack) error {
	var views []pageview.Trial
	for _, topology := range lab.Topologies {
		views = append(views, pageview.Trials(topology, "k6", "redis", "redisson")...)
	}
	var rows Rows
	var err error
	if rows.Sales, err = trial.Run(ctx, trials(s)...); err == nil {
		rows.Views, err = trial.Run(ctx, pageview.On(s, views)...)
	}
	if err != nil {
		return err
	}
	return report.ConcludeRows(ctx, s, "topologies", rows, report.Report{
		Title:    "Redis in every topology",
		Summary:  "The same claims and page views on one Redis server, with replicas, under Sentinel and on a Cluster, with failovers in the middle.",
		Sections: []report.Section{salesSection(rows.Sales), pageview.Section(rows.Views)},
	})
}

// trials returns a sale on each topology, and one with a failover where a replica
// becomes master.
func trials(s *rig.Stack) (sales []*Sale) {
	for _, topology := range lab.Topologies {
		sales = append(sales, &Sale{Topology: topology, Rounds: 1, stack: s})
		if topology == "sentinel" || topology == "cluster" {
			sales = append(sales, &Sale{Topology: topology, Rounds: failoverRounds, Failover: true, stack: s})
		}
	}
	return sales
}

func salesSection(sales []*Sale) report.Section {
	return trial.Section("100 users claim 7 times each, stock 50, as shipped",
		"An outage lasts from the master's end until the claims that met it have their replies, and none fails any more.",
		salesColumns, sales)
}

var salesColumns = report.Columns[*Sale]{
	report.Main("", (*Sale).String),
	report.Detail("rounds", func(s *Sale) int { return s.Rounds }),
	report.Detail("sold out", func(s *Sale) int { return s.SoldOut }),
	report.Detail("accepted", func(s *Sale) int { return s.Accepted }),
	report.Main("orders", func(s *Sale) int { return s.Orders }),
	report.Main("over", func(s *Sale) int { return s.Oversold }),
	report.Main("twice", func(s *Sale) int { return s.Duplicates }),
	report.Main("under", func(s *Sale) int { return s.Undersold }),
	report.Main("acked missing", func(s *Sale) int { return s.AckedMissing }),
	report.Main("503s", func(s *Sale) int { return s.Failed }),
	report.Detail("met it", func(s *Sale) string { return s.inFailover(fmt.Sprint(s.Met)) }),
	report.Main("outage", func(s *Sale) string { return s.inFailover(fmt.Sprintf("%.1f s", s.Unavailable)) }),
	report.Main("verdict", func(s *Sale) verdict.Verdict { return s.Verdict }),
}

// inFailover returns text, unless nothing failed over.
func (sale *Sale) inFailover(text string) string {
	if sale.Failover {
		return text
	}
	return "–"
}

func (sale *Sale) String() string {
	if sale.Failover {
		return sale.Topology + ", failover"
	}
	return sale.Topology
}
