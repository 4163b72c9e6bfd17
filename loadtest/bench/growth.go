package main

import (
	"context"
	"fmt"
	"time"
)

// growth measures grouped as things become many: orders in the table, coupons
// on sale, connections; with the memory of the service at each.
func (b *bench) growth(ctx context.Context) error {
	var cells []cell
	for orders := 10_000; orders <= b.most; orders *= 10 {
		t, err := b.direct(ctx, b.service("grouped"))
		if err != nil {
			return err
		}
		begun := time.Now()
		b.progress("preload %d orders", orders)
		if err := t.sale.Preload(ctx, orders); err != nil {
			return err
		}
		name := fmt.Sprintf("growth/%d orders", orders)
		b.Add(name+" preload", "s", time.Since(begun).Seconds())
		cells = append(cells, b.amid(name, t, orders))
	}
	for _, coupons := range []int{1, 10, 1000} {
		t, err := b.direct(ctx, b.service("grouped"))
		if err != nil {
			return err
		}
		cells = append(cells, b.grown(fmt.Sprintf("growth/%d coupons", coupons), t, crowd, coupons))
	}
	for _, conns := range []int{64, 256, 1024, 4096} {
		t, err := b.direct(ctx, b.service("grouped"))
		if err != nil {
			return err
		}
		cells = append(cells, b.grown(fmt.Sprintf("growth/%d connections", conns), t, conns, 1))
	}
	return b.turns(ctx, cells)
}

// grown measures winners and, meanwhile, the memory of the service.
func (b *bench) grown(name string, t target, conns, coupons int) cell {
	return cell{name, func(ctx context.Context) error {
		memory := watchMemory(t.instance.PID())
		spell := max(b.less, time.Duration(conns/1000+1)*time.Second) // it takes a while to connect so many
		l, err := b.win(ctx, t, conns, spell, coupons)
		peak, memErr := memory()
		if err != nil {
			return err
		}
		b.Add(name, "1/s", l.perSecond(l.accepted()))
		b.Add(name+" p99", "ms", float64(l.P99US)/1000)
		b.Add(name+" memory", "MB", peak)
		return memErr
	}}
}

// amid is grown in a table of so many orders, which a smaller one is brought
// back to before: a measurement adds some hundred thousand.
func (b *bench) amid(name string, t target, orders int) cell {
	c := b.grown(name, t, crowd, 1)
	measure := c.run
	c.run = func(ctx context.Context) error {
		if orders < 1_000_000 {
			if err := t.sale.Preload(ctx, orders); err != nil {
				return err
			}
		}
		var rows float64
		if err := t.sale.DB.GetContext(ctx, &rows, "SELECT COUNT(*) FROM coupon_orders"); err != nil {
			return err
		}
		b.Add(name+" at the start", "rows", rows)
		return measure(ctx)
	}
	return c
}
