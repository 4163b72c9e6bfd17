package bench

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"example.com/flashsale/loadtest/report"
	"example.com/flashsale/loadtest/rig"
)

// Compare measures bin/api and bin/api-before, the service of another commit,
// in one run. It prints a table and writes out/compare/compare.json. Both must
// take the same settings and the same schema.
func Compare(ctx context.Context) error {
	return with(ctx, func(b *bench, ctx context.Context) error {
		if err := b.measure(ctx, prepareComparison); err != nil {
			return err
		}
		return b.reportComparison(ctx)
	})
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

func prepareComparison(ctx context.Context, b *bench) ([]turns, error) {
	var all, open []measurement
	load := closed(defaultConns, b.duration)
	for _, v := range versions {
		d, err := b.startOne(ctx, v)
		if err != nil {
			return nil, err
		}
		all = append(all, accepted(compared("claims", v), d, load, 1, 1))
		if v.name != before.name && v.name != after.name {
			continue
		}
		all = append(all, accepted(compared("4096 connections", v), d, b.growthLoad(4096), 1, 1),
			accepted(compared("10 coupons", v), d, b.growthLoad(defaultConns), 10, 1),
			accepted(compared("1000 coupons", v), d, b.growthLoad(defaultConns), 1000, 1))
		refusals, err := refusedClaims(ctx, rateOf("%s/sold out", v.name),
			rateOf("%s/already claimed", v.name), d, load)
		if err != nil {
			return nil, err
		}
		all = append(all, refusals...)
		rate := func() float64 { return b.median(compared("claims", before).figure) / 2 }
		open = append(open, arriving(atHalf(v), d, rate, b.duration, b.latencies))
	}
	return []turns{{b.repetitions, all}, {b.repetitions, open}}, nil
}

// reportComparison prints each figure of bin/api beside that of bin/api-before, the
// CPU time for a claim first, and writes all figures.
func (b *bench) reportComparison(ctx context.Context) error {
	environment, err := b.Environment(ctx)
	if err != nil {
		return err
	}
	t := report.Table{Header: []string{"", "before", "after", "after / before", ""}}
	cpuFirst := slices.SortedStableFunc(slices.Values(b.Figures), func(x, y *Figure) int {
		return cmp.Compare(strings.Count(y.Name, " CPU"), strings.Count(x.Name, " CPU"))
	})
	for _, f := range cpuFirst {
		if after := strings.Replace(f.Name, "before", "after", 1); after != f.Name {
			change := b.samples(figure{name: after}).over(f.Values)
			t.Add(fmt.Sprintf("%s (%s)", strings.ReplaceAll(f.Name, "before", "…"), f.Unit),
				report.Number(f.Median), report.Number(b.named(after)), inRange(change.spread()), change.direction())
		}
	}
	t.Print()
	return rig.WriteJSON(filepath.Join("out", "compare", "compare.json"), Report{
		Environment: environment, Quick: b.scale == shortened, Repetitions: b.repetitions, Figures: b.Figures,
	})
}

// direction says whether all repetitions changed in the same direction.
func (s samples) direction() string {
	switch low, _, high := s.spread(); {
	case low > 1:
		return "more"
	case high < 1:
		return "less"
	}
	return undecided
}
