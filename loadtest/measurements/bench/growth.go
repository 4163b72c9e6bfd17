package bench

import (
	"context"
	"fmt"
	"slices"
	"time"

	"example.com/flashsale/internal/lab"
	"example.com/flashsale/loadtest/clients"
	"example.com/flashsale/loadtest/report"
	"example.com/flashsale/loadtest/rig"
)

// growth is grouped with more orders in the table, more coupons on sale, more
// connections and more instances, and the service's memory in each case.
var growth = section{
	name: "growth", prepare: prepareGrowth,
	tables: []table{{"growth", []string{
		"", "count", "CPU for a claim", "claims/s", "refused", "p99", "memory",
	}, growthRows()}},
	limits: []limit{
		{"claims with 10^6 orders / with 10^4", ratio(orders1M.rate().figure, orders10k.rate().figure), 0.85, atLeast},
		{"10 coupons on sale / one", ratio(coupons10.rate().figure, coupons1.rate().figure), 0.9, atLeast},
		{"1,000 coupons on sale / one", ratio(coupons1000.rate().figure, coupons1.rate().figure), 0.8, atLeast},
		{"claims on 4,096 connections / on 256", ratio(conns4096.rate().figure, conns256.rate().figure), 0.8, atLeast},
		{"claims refused on 4,096 connections (%)", of(conns4096.rate().refused()), 1, atMost},
		{"service memory at 4,096 connections (MB)", of(conns4096.rate().memory()), 200, atMost},
	},
}

// A size is how many there are of something that grows.
type size struct {
	count int
	kind  sizeKind
}

type sizeKind struct{ name, label string }

var (
	orders    = sizeKind{"orders", "orders in the table before"}
	coupons   = sizeKind{"coupons", "coupons on sale at once"}
	conns     = sizeKind{"connections", "connections"}
	overTCP   = sizeKind{"connections over TCP", "connections, with TCP to the database and to Redis"}
	instances = sizeKind{"instances", "instances behind nginx"}

	orders10k, orders1M              = size{10_000, orders}, size{1_000_000, orders}
	coupons1, coupons10, coupons1000 = size{1, coupons}, size{10, coupons}, size{1000, coupons}
	conns256, conns4096              = size{defaultConns, conns}, size{4096, conns}

	growthSizes = [][]size{
		{orders10k, {100_000, orders}, orders1M, {10_000_000, orders}},
		{coupons1, coupons10, coupons1000, {10_000, coupons}},
		{{64, conns}, conns256, {1024, conns}, conns4096},
		{{defaultConns, overTCP}},
		{{1, instances}, {2, instances}, {3, instances}},
	}
)

func (s size) rate() rate      { return rateOf("growth/%d %s", s.count, s.kind.name) }
func (s size) preload() figure { return s.rate().with("preload", "s") }
func (s size) atStart() figure { return s.rate().with("at the start", "rows") }

func growthRows() (rows []row) {
	for _, s := range slices.Concat(growthSizes...) {
		r := s.rate()
		rows = append(rows, row{s.kind.label, []cell{
			words(report.Number(float64(s.count))), cpu(r), spread(r.figure), value(r.refused()), value(r.p99()),
			value(r.memory()),
		}})
	}
	return rows
}

func prepareGrowth(ctx context.Context, b *bench) ([]turns, error) {
	var all []measurement
	for _, s := range slices.Concat(growthSizes...) {
		if s.kind == orders && s.count > b.maxOrders {
			continue
		}
		d, err := b.startSize(ctx, s)
		if err != nil {
			return nil, err
		}
		switch s.kind {
		case orders:
			if err := b.preload(ctx, s, d); err != nil {
				return nil, err
			}
			all = append(all, withOrders(s, d, accepted(s.rate(), d, b.growthLoad(defaultConns), 1, 1)))
		case coupons:
			all = append(all, accepted(s.rate(), d, b.growthLoad(defaultConns), s.count, 1))
		case conns:
			all = append(all, accepted(s.rate(), d, b.growthLoad(s.count), 1, 1))
		default:
			all = append(all, accepted(s.rate(), d, b.growthLoad(defaultConns), 1, 1))
		}
	}
	return []turns{{b.repetitions, all}}, nil
}

func (b *bench) startSize(ctx context.Context, s size) (deployment, error) {
	switch s.kind {
	case instances:
		return b.deploy(ctx, grouped, lab.StartNginx, make([][]string, s.count)...)
	case overTCP:
		return b.startOverTCP(ctx, grouped)
	}
	return b.startOne(ctx, grouped)
}

// startOverTCP starts one instance of v whose servers are a database and a Redis of
// its own, which it reaches by TCP. All others reach theirs by Unix sockets.
func (b *bench) startOverTCP(ctx context.Context, v variant) (d deployment, err error) {
	redis, err := lab.StartRedisTCP(b.Lab)
	if err != nil {
		return d, err
	}
	database, err := lab.StartMySQLTCP(b.Lab, rig.LargeDatabase...)
	if err != nil {
		return d, err
	}
	v.settings = append(slices.Clone(v.settings), "REDIS_URL="+redis.URL)
	sale, err := b.NewSaleOn(ctx, database, func(name string) string {
		return fmt.Sprintf("root@tcp(%s)/%s", database.Address, name)
	}, v.settings...)
	if err != nil {
		return d, err
	}
	return b.deployOn(ctx, sale, v, nil, nil)
}

// growthLoad is longer with many connections: their first claims come at one moment.
func (s scale) growthLoad(conns int) clients.Load {
	return closed(conns, max(s.shortDuration, time.Duration(conns/1000+1)*time.Second))
}

// preload fills the table of orders.
func (b *bench) preload(ctx context.Context, s size, d deployment) error {
	start := time.Now()
	b.progress("preload %d orders", s.count)
	err := d.sale.Preload(ctx, s.count)
	b.add(measured{s.preload(), time.Since(start).Seconds()})
	return err
}

// withOrders is m on a table of that many orders. Each measurement adds some
// hundred thousand orders, so small tables are restored first.
func withOrders(s size, d deployment, m measurement) measurement {
	return measurement{m.name, func(ctx context.Context) ([]measured, error) {
		if s.count < 1_000_000 {
			if err := d.sale.Preload(ctx, s.count); err != nil {
				return nil, err
			}
		}
		var rows float64
		if err := d.sale.DB.GetContext(ctx, &rows, "SELECT COUNT(*) FROM coupon_orders"); err != nil {
			return nil, err
		}
		values, err := m.run(ctx)
		return append(values, measured{s.atStart(), rows}), err
	}}
}
