package bench

import (
	"context"
	"fmt"
	"time"

	"example.com/flashsale/loadtest/rig"
)

// The counts that growth measures.
var (
	growthOrders  = []int{10_000, 100_000, 1_000_000, 10_000_000}
	growthCoupons = []int{1, 10, 1000}
	growthConns   = []int{64, 256, 1024, 4096}
)

// growth measures grouped with more orders in the table, more coupons on sale
// and more connections, and the service's memory in each case.
func (b *bench) growth(ctx context.Context) error {
	var all []measurement
	for _, orders := range growthOrders {
		if orders > b.maxOrders {
			break
		}
		d, err := b.direct(ctx, serviceVariant("grouped"))
		if err != nil {
			return err
		}
		start := time.Now()
		b.progress("preload %d orders", orders)
		if err := d.sale.Preload(ctx, orders); err != nil {
			return err
		}
		name := fmt.Sprintf("growth/%d orders", orders)
		b.Add(name+" preload", "s", time.Since(start).Seconds())
		all = append(all, b.withOrders(name, d, orders))
	}
	for _, coupons := range growthCoupons {
		d, err := b.direct(ctx, serviceVariant("grouped"))
		if err != nil {
			return err
		}
		all = append(all, b.withMemory(fmt.Sprintf("growth/%d coupons", coupons), d, defaultConns, coupons))
	}
	for _, conns := range growthConns {
		d, err := b.direct(ctx, serviceVariant("grouped"))
		if err != nil {
			return err
		}
		all = append(all, b.withMemory(fmt.Sprintf("growth/%d connections", conns), d, conns, 1))
	}
	return b.interleave(ctx, all)
}

// withMemory measures accepted claims and the service's peak memory meanwhile.
func (b *bench) withMemory(name string, d deployment, conns, coupons int) measurement {
	return measurement{name, func(ctx context.Context) error {
		stopSampling := rig.SampleMemory(d.instance.PID())
		duration := max(b.shortDuration, time.Duration(conns/1000+1)*time.Second) // connecting takes about a second per thousand
		r, err := b.claim(ctx, d, conns, duration, coupons)
		peak, memErr := stopSampling()
		if err != nil {
			return err
		}
		b.Add(name, "1/s", r.perSecond(r.accepted()))
		b.Add(name+" p99", "ms", float64(r.P99US)/1000)
		b.Add(name+" memory", "MB", peak)
		return memErr
	}}
}

// withOrders is withMemory on a table of that many orders. Each measurement
// adds some hundred thousand orders, so small tables are restored first.
func (b *bench) withOrders(name string, d deployment, orders int) measurement {
	m := b.withMemory(name, d, defaultConns, 1)
	return measurement{name, func(ctx context.Context) error {
		if orders < 1_000_000 {
			if err := d.sale.Preload(ctx, orders); err != nil {
				return err
			}
		}
		var rows float64
		if err := d.sale.DB.GetContext(ctx, &rows, "SELECT COUNT(*) FROM coupon_orders"); err != nil {
			return err
		}
		b.Add(name+" at the start", "rows", rows)
		return m.run(ctx)
	}}
}
