// Package crowd measures how many clients may claim at one moment: all connect to
// nginx first and then send their claims together. It counts who gets a verdict,
// who an honest 503, and after how long.
package crowd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"example.com/flashsale/internal/lab"
	"example.com/flashsale/loadtest/rig"
)

// runs is how often each size is repeated. Another program on the machine may
// spoil one of them.
const runs = 5

// Run measures the sizes that the setting CROWD names, separated by commas. It
// prints a table and writes out/crowd/crowd.json.
func Run(ctx context.Context) error {
	sizes, err := sizes()
	if err != nil {
		return err
	}
	return rig.With(func(s *rig.Stack) error { return run(ctx, s, sizes) }, rig.LargeDatabase...)
}

func sizes() (sizes []int, err error) {
	setting := cmp.Or(os.Getenv("CROWD"), "666,4000,8000,12000,20000")
	for field := range strings.SplitSeq(setting, ",") {
		n, err := strconv.Atoi(field)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("CROWD=%s: want numbers of clients, separated by commas", setting)
		}
		sizes = append(sizes, n)
	}
	return sizes, nil
}

func run(ctx context.Context, s *rig.Stack, sizes []int) error {
	headers, err := s.Headers(slices.Max(sizes))
	if err != nil {
		return err
	}
	sale, err := s.NewSale(ctx)
	if err != nil {
		return err
	}
	pair, err := sale.StartFleet("api", lab.StartCrowdNginx, nil, nil)
	if err != nil {
		return errors.Join(err, sale.Close())
	}
	rows, pass, err := measure(ctx, &site{sale, pair, headers}, sizes)
	if err := errors.Join(err, pair.Stop(), sale.Close()); err != nil {
		return err
	}
	fmt.Printf("Claims sent at one moment, through nginx to two instances over TCP, %d times each:\n", runs)
	columns.Table(rows).Print()
	return s.Conclude(ctx, "crowd", rows, pass, nil)
}

func measure(ctx context.Context, s *site, sizes []int) (rows []Row, pass bool, err error) {
	pass = true
	steps := rig.NewSteps(runs * len(sizes))
	for _, n := range sizes {
		row := Row{Clients: n}
		for range runs {
			steps.Next("%d clients", n)
			b, err := s.burst(ctx, n)
			if err != nil {
				return nil, false, fmt.Errorf("%d clients: %w", n, err)
			}
			row.Bursts = append(row.Bursts, b)
		}
		row.Summary, row.Pass = row.summary(), row.verdict().Pass()
		rows, pass = append(rows, row), pass && row.Pass
	}
	return rows, pass, nil
}
