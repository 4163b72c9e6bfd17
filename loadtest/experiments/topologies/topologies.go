// Package topologies runs claims and page views on Redis in each topology, with
// failovers during the claims where the topology has one.
package topologies

import (
	"context"
	"errors"
	"fmt"

	"example.com/flashsale/internal/lab"
	"example.com/flashsale/loadtest/experiments/pageview"
	"example.com/flashsale/loadtest/rig"
)

// Run prints two tables and writes out/topologies/topologies.json.
func Run(ctx context.Context) error {
	return rig.With(func(s *rig.Stack) error { return run(ctx, s) }, rig.LargeDatabase...)
}

func run(ctx context.Context, s *rig.Stack) error {
	steps := rig.NewSteps(6 + 5*len(lab.Topologies)) // two topologies have a failover
	sales, salesPass, err := runSales(ctx, s, steps)
	if err != nil {
		return err
	}
	views, viewsPass, err := runViews(ctx, s, steps)
	if err != nil {
		return err
	}
	rows, pass := Rows{sales, views}, salesPass && viewsPass
	fmt.Println("100 users claim 7 times each, stock 50, as shipped:")
	salesTable(sales).Print()
	fmt.Println("\n666 page views at once:")
	pageview.Table(views).Print()
	environment, err := s.WriteRows(ctx, "topologies", rows, pass)
	if err != nil {
		return err
	}
	return errors.Join(rows.writePage(environment, pass), rig.Proven(pass))
}

// Rows are the results in topologies.json.
type Rows struct {
	Sales []Sale           `json:"sales"`
	Views []pageview.Views `json:"views"`
}

func runSales(ctx context.Context, s *rig.Stack, steps *rig.Steps) (sales []Sale, pass bool, err error) {
	pass = true
	for _, topology := range lab.Topologies {
		for _, failover := range []bool{false, true} {
			if failover && topology != "sentinel" && topology != "cluster" {
				continue // no replica becomes master
			}
			steps.Next("claims, %s, failover %t", topology, failover)
			sale, err := sell(ctx, s, topology, failover)
			if err != nil {
				return nil, false, fmt.Errorf("%s: %w", topology, err)
			}
			sales, pass = append(sales, sale), pass && sale.Pass
		}
	}
	return sales, pass, nil
}

func runViews(ctx context.Context, s *rig.Stack, steps *rig.Steps) (views []pageview.Views, pass bool, err error) {
	pass = true
	for _, topology := range lab.Topologies {
		for _, t := range []pageview.Trial{
			{Version: "v1", Lock: "none", Expect: "break"}, {Version: "v2", Lock: "local", Expect: "break"},
			{Version: "v3", Lock: "redis", Expect: "hold"}, {Version: "v3", Lock: "redisson", Expect: "hold"},
			{Version: "v4", Lock: "redlock", Expect: "hold"},
		} {
			t.Sender, t.Topology = "k6", topology
			steps.Next("page views, %s, %s, lock %s", topology, t.Version, t.Lock)
			v, err := pageview.Send(ctx, s, t)
			if err != nil {
				return nil, false, fmt.Errorf("%s %s %s: %w", topology, t.Version, t.Lock, err)
			}
			views, pass = append(views, v), pass && v.Pass
		}
	}
	return views, pass, nil
}
