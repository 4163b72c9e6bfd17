package bench

import (
	"context"
	"strings"
)

// techniques measures what each technique brings: added alone to the baseline,
// and all four together. Group commit is measured in the service. The coupon
// cache is measured by sold-out replies, which it gives without the lock and
// the transaction.
func (b *bench) techniques(ctx context.Context) error {
	single := []string{interpolate, insertFirst, idBlocks, pipelining}
	variants := []variant{baselineVariant("articles", "")}
	for _, t := range single {
		variants = append(variants, baselineVariant("articles + "+t, t))
	}
	variants = append(variants, baselineVariant("articles + all four", strings.Join(single, ",")), serviceVariant("each"), serviceVariant("grouped"))
	var all []measurement
	for _, v := range variants {
		d, err := b.direct(ctx, v)
		if err != nil {
			return err
		}
		all = append(all, b.acceptedClaims("techniques/", d, b.shortDuration))
	}
	for _, check := range []struct {
		name string
		variant
	}{
		{"no gate, by hand", baselineVariant("by hand", interpolate)},
		{"a look at the coupon", serviceVariant("grouped", "COUPON_CACHE=0s")},
		{"the coupon cached", serviceVariant("grouped")},
	} {
		d, err := b.direct(ctx, check.variant)
		if err != nil {
			return err
		}
		coupon, err := d.sale.AddCoupon(ctx, 0)
		if err != nil {
			return err
		}
		all = append(all, b.refusals("techniques/sold out, "+check.name, "sold_out", d, b.wrk, coupon))
	}
	return b.interleave(ctx, all)
}
