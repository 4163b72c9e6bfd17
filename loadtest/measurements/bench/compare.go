package bench

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"example.com/flashsale/loadtest/report"
	"example.com/flashsale/loadtest/rig"
)

// Compare measures bin/api and bin/api-before, the service of another commit,
// in one run. It prints a table and writes out/compare/compare.json. Both must
// take the same settings and the same schema.
func Compare(ctx context.Context) error {
	return rig.With(func(s *rig.Stack) error {
		b, err := newBench(s)
		if err != nil {
			return err
		}
		return b.compare(ctx)
	}, rig.LargeDatabase...)
}

// versions are the compared programs. The two strategies show whether a change
// concerns a claim or a batch.
var versions = []variant{
	empty,
	before, after,
	{"before, each", "api-before", []string{"COMMIT=each"}},
	{"after, each", "api", []string{"COMMIT=each"}},
}

var (
	before = variant{"before", "api-before", grouped.settings}
	after  = variant{"after", "api", grouped.settings}
)

// compared is a rate of one version.
func compared(what string, v variant) rate { return rateOf("%s/%s", what, v.name) }

func (b *bench) compare(ctx context.Context) error {
	var all []measurement
	var grouped []deployment
	for _, v := range versions {
		d, err := b.direct(ctx, v)
		if err != nil {
			return err
		}
		all = append(all, b.acceptedClaims(compared("claims", v), d, b.duration))
		if v.name != before.name && v.name != after.name {
			continue
		}
		grouped = append(grouped, d)
		all = append(all, b.withMemory(compared("4096 connections", v), d, 4096, 1),
			b.withMemory(compared("10 coupons", v), d, defaultConns, 10),
			b.withMemory(compared("1000 coupons", v), d, defaultConns, 1000))
		refused, err := b.refusedClaims(ctx, rateOf("%s/sold out", v.name), rateOf("%s/already claimed", v.name), d)
		if err != nil {
			return err
		}
		all = append(all, refused...)
	}
	if err := b.interleave(ctx, all); err != nil {
		return err
	}
	rate := b.median(compared("claims", before).figure) / 2
	var open []measurement
	for _, d := range grouped {
		open = append(open, b.latency(atHalf(d.variant), d, rate))
	}
	if err := b.interleave(ctx, open); err != nil {
		return err
	}
	return b.reportComparison(ctx)
}

// reportComparison prints each figure of bin/api beside that of
// bin/api-before, and writes all figures.
func (b *bench) reportComparison(ctx context.Context) error {
	environment, err := b.Environment(ctx)
	if err != nil {
		return err
	}
	t := report.Table{Header: []string{"", "before", "after", "after / before"}}
	for _, f := range b.all {
		if after := strings.Replace(f.Name, "before", "after", 1); after != f.Name {
			t.Rows = append(t.Rows, []string{
				fmt.Sprintf("%s (%s)", strings.ReplaceAll(f.Name, "before", "…"), f.Unit),
				formatNumber(f.Median), formatNumber(b.named(after)), fmt.Sprintf("%.2f", b.named(after)/f.Median),
			})
		}
	}
	t.Print()
	return rig.WriteJSON(filepath.Join("out", "compare", "compare.json"), Report{
		Environment: environment, Quick: quick(), Repetitions: b.repetitions, Figures: b.all,
	})
}
