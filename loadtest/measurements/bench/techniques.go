package bench

import (
	"context"
	"strings"
)

// techniques are what each technique brings: added alone to the baseline, and all
// four together. Two transactions that others have published stand beside them, with
// interpolated arguments and ids in blocks. Group commit is measured in the service.
// The coupon cache is measured by sold-out replies, which it gives without the lock
// and the transaction.
var techniques = section{
	name: "techniques", prepare: prepareTechniques,
	tables: []table{
		{"techniques", []string{
			"", "CPU for a claim", "of the articles' flow", "claims/s", "ratio to the articles' flow", "p99",
		}, []row{
			techniqueRow("the articles' flow", articles),
			techniqueRow("+ arguments interpolated by the driver: one round trip for a statement instead of two",
				withInterpolation),
			techniqueRow("+ order inserted before the stock is decremented: the hot row is locked last",
				withInsertFirst),
			techniqueRow("+ order ids fetched from Redis in blocks", withIDBlocks),
			techniqueRow("+ Redis commands of concurrent claims sent together", withPipelining),
			techniqueRow("+ all four", withAllFour),
			techniqueRow("AliSQL's inventory hint as plain SQL: a request that ends with COMMIT, after the hot row",
				withOneRequest),
			techniqueRow("Shopify's way: a row for each unit, taken with `SKIP LOCKED`", withUnitRows),
			techniqueRow("`each`, in the service", each),
			techniqueRow("`grouped`, in the service", grouped),
		}},
		{"sold out", []string{"", "CPU for a claim", "replies/s", "p99"}, []row{
			rateRow("baseline: lock and transaction for each claim", soldOutByHand),
			rateRow("`grouped`, coupon read from the database for each claim", soldOutUncached),
			rateRow("`grouped`, coupon cached (the default)", soldOutCached),
		}},
	},
}

var (
	articles          = baselineVariant("articles", "")
	withInterpolation = baselineVariant("articles + "+interpolate, interpolate)
	withInsertFirst   = baselineVariant("articles + "+insertFirst, insertFirst)
	withIDBlocks      = baselineVariant("articles + "+idBlocks, idBlocks)
	withPipelining    = baselineVariant("articles + "+pipelining, pipelining)
	withOneRequest    = publishedVariant(oneRequest)
	withUnitRows      = publishedVariant(unitRows)
	withAllFour       = baselineVariant("articles + all four",
		strings.Join([]string{interpolate, insertFirst, idBlocks, pipelining}, ","))

	soldOutByHand   = rateOf("techniques/sold out, no gate, by hand")
	soldOutUncached = rateOf("techniques/sold out, a look at the coupon")
	soldOutCached   = rateOf("techniques/sold out, the coupon cached")
)

// publishedVariant is the baseline with a transaction that others have published.
func publishedVariant(technique string) variant {
	return baselineVariant(technique, strings.Join([]string{interpolate, idBlocks, technique}, ","))
}

func withTechnique(v variant) rate { return rateOf("techniques/%s", v.name) }

func techniqueRow(label string, v variant) row {
	r := withTechnique(v)
	base := withTechnique(articles)
	return row{label, []cell{cpu(r), times(r.cpu(), base.cpu()), spread(r.figure), times(r.figure, base.figure),
		value(r.p99())}}
}

func prepareTechniques(ctx context.Context, b *bench) ([]turns, error) {
	var all []measurement
	for _, v := range []variant{
		articles, withInterpolation, withInsertFirst, withIDBlocks, withPipelining, withAllFour, withOneRequest,
		withUnitRows, each, grouped,
	} {
		d, err := b.startOne(ctx, v)
		if err != nil {
			return nil, err
		}
		all = append(all, accepted(withTechnique(v), d, closed(defaultConns, b.shortDuration), 1, 1))
	}
	for _, check := range []struct {
		to rate
		variant
	}{
		{soldOutByHand, byHand}, {soldOutUncached, serviceVariant("grouped", "COUPON_CACHE=0s")},
		{soldOutCached, grouped},
	} {
		d, err := b.startOne(ctx, check.variant)
		if err != nil {
			return nil, err
		}
		coupon, err := d.sale.AddCoupon(ctx, 0)
		if err != nil {
			return nil, err
		}
		all = append(all, refused(check.to, "sold_out", d, closed(defaultConns, b.duration), coupon))
	}
	return []turns{{b.repetitions, all}}, nil
}
