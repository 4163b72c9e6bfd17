package main

import (
	"context"
	"strings"
)

// techniques measures what each one brings: alone, added to the articles' flow
// written by hand, and all that a claim by itself can use together. Grouping
// is measured as the service has it, and the gate by those whom it keeps from
// the lock and the transaction.
func (b *bench) techniques(ctx context.Context) error {
	single := []string{interpolate, insertFirst, idBlocks, pipelining}
	flows := []flow{b.byHand("articles", "")}
	for _, t := range single {
		flows = append(flows, b.byHand("articles + "+t, t))
	}
	flows = append(flows, b.byHand("articles + all four", strings.Join(single, ",")), b.service("each"), b.service("grouped"))
	var cells []cell
	for _, f := range flows {
		t, err := b.direct(ctx, f)
		if err != nil {
			return err
		}
		cells = append(cells, b.winners("techniques/", t, b.less))
	}
	for _, f := range []struct {
		gate string
		flow
	}{
		{"no gate, by hand", b.byHand("by hand", interpolate)},
		{"a look at the coupon", b.service("grouped", "COUPON_CACHE=0s")},
		{"the coupon cached", b.service("grouped")},
	} {
		t, err := b.direct(ctx, f.flow)
		if err != nil {
			return err
		}
		coupon, err := t.sale.OnSale(ctx, 0)
		if err != nil {
			return err
		}
		cells = append(cells, b.refusals("techniques/sold out, "+f.gate, "sold_out", t, b.wrk, coupon))
	}
	return b.turns(ctx, cells)
}
