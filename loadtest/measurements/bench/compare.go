package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

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
		headers, err := b.Headers(users)
		if err != nil {
			return err
		}
		if b.wrk, err = newWrk(headers); err != nil {
			return err
		}
		return b.compare(ctx)
	}, rig.LargeDatabase...)
}

// versions are the compared programs. The two strategies show whether a change
// concerns a claim or a batch.
var versions = []variant{
	emptyVariant(),
	{"before", "api-before", []string{"COMMIT=grouped"}},
	{"after", "api", []string{"COMMIT=grouped"}},
	{"before, each", "api-before", []string{"COMMIT=each"}},
	{"after, each", "api", []string{"COMMIT=each"}},
}

func (b *bench) compare(ctx context.Context) error {
	var all []measurement
	var grouped []deployment
	for _, v := range versions {
		d, err := b.direct(ctx, v)
		if err != nil {
			return err
		}
		all = append(all, b.acceptedClaims("claims/", d, b.duration))
		if v.name != "before" && v.name != "after" {
			continue
		}
		grouped = append(grouped, d)
		all = append(all, b.withMemory("4096 connections/"+v.name, d, 4096, 1),
			b.withMemory("10 coupons/"+v.name, d, defaultConns, 10), b.withMemory("1000 coupons/"+v.name, d, defaultConns, 1000))
		refused, err := b.refusedClaims(ctx, v.name+"/", d)
		if err != nil {
			return err
		}
		all = append(all, refused...)
	}
	if err := b.interleave(ctx, all); err != nil {
		return err
	}
	rate := b.Median("claims/before") / 2
	var open []measurement
	for _, d := range grouped {
		open = append(open, b.latency("open/"+d.name, d, rate))
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
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "\tbefore\tafter\tafter / before\t")
	for _, f := range b.all {
		if after := strings.Replace(f.Name, "before", "after", 1); after != f.Name {
			fmt.Fprintf(w, "%s (%s)\t%s\t%s\t%.2f\t\n", strings.ReplaceAll(f.Name, "before", "…"), f.Unit,
				formatNumber(f.Median), formatNumber(b.Median(after)), b.Ratio(after, f.Name))
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return rig.WriteJSON(filepath.Join("out", "compare", "compare.json"), Report{
		Environment: environment, Quick: quick(), Repetitions: b.repetitions, Figures: b.all,
	})
}
