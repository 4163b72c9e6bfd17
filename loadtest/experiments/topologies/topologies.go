// Package topologies runs claims and page views on Redis in each topology, with
// failovers during the claims where the topology has one.
package topologies

import (
	"context"
	"fmt"
	"os"

	"example.com/flashsale/internal/lab"
	"example.com/flashsale/loadtest/experiments/pageview"
	"example.com/flashsale/loadtest/rig"
	"example.com/flashsale/loadtest/verdict"
)

// Run prints two tables and writes out/topologies/topologies.json.
func Run(ctx context.Context) error {
	return rig.With(func(s *rig.Stack) error { return run(ctx, s) }, rig.LargeDatabase...)
}

func run(ctx context.Context, s *rig.Stack) error {
	steps := rig.NewSteps(6 + 6*len(lab.Topologies)) // two topologies have a failover
	sales, err := runSales(ctx, s, steps)
	if err != nil {
		return err
	}
	var trials []pageview.Trial
	for _, topology := range lab.Topologies {
		trials = append(trials, pageview.Trials(topology, "k6", "redis", "redisson")...)
	}
	views, err := pageview.SendAll(ctx, s, steps, trials)
	if err != nil {
		return err
	}
	rows := Rows{sales, views}
	fmt.Println("100 users claim 7 times each, stock 50, as shipped:")
	salesColumns.Table(sales).Print()
	fmt.Println("\n666 page views at once:")
	pageview.Table(views).Print()
	return s.Conclude(ctx, "topologies", rows,
		verdict.AllPass(append(verdicts(sales), pageview.Verdicts(views)...)), rows.writePage)
}

// Rows are the results in topologies.json.
type Rows struct {
	Sales []Sale           `json:"sales"`
	Views []pageview.Views `json:"views"`
}

func runSales(ctx context.Context, s *rig.Stack, steps *rig.Steps) (sales []Sale, err error) {
	for _, topology := range lab.Topologies {
		for _, failover := range []bool{false, true} {
			if failover && topology != "sentinel" && topology != "cluster" {
				continue // no replica becomes master
			}
			steps.Next("claims, %s, failover %t", topology, failover)
			sale, err := sell(ctx, s, topology, failover)
			for n := 1; err == nil && sale.Verdict == verdict.Void && n < attempts; n++ {
				fmt.Fprintln(os.Stderr, "         void, because no claim was accepted, or none met the failover: again")
				sale, err = sell(ctx, s, topology, failover)
			}
			if err != nil {
				return nil, fmt.Errorf("%s: %w", topology, err)
			}
			sales = append(sales, sale)
		}
	}
	return sales, nil
}

// attempts bounds how often a sale is repeated that is void.
const attempts = 5
