package cluster

import (
	"context"
	"fmt"
	"time"

	"example.com/flashsale/internal/connect"
	"example.com/flashsale/loadtest/rig"
	"example.com/flashsale/loadtest/trial"
)

// A Sharded is a shard's part of a sale.
type Sharded struct {
	Orders int     `json:"orders"`
	Gap    float64 `json:"longest_gap_s"` // between two accepted claims whose orders it has, around the fault

	ids map[string]bool // of its orders
}

// A ledger is what the shards have of one coupon.
type ledger struct {
	initial, stock, moved int
	orders                map[string]rig.Order
}

// audit audits the coupons by what the shards have together. met says that several shards have
// orders, and that each of them had sold when the fault struck.
func (s *Sharding) audit(ctx context.Context, all []*buyers, struck trial.Span, end time.Time) (met bool, err error) {
	servers, err := s.servers(ctx)
	if err != nil {
		return false, err
	}
	ledgers := make([]ledger, len(all))
	for _, m := range servers {
		db, err := connect.MySQL(m.DSN(s.fleet.sale.Name), 1)
		if err != nil {
			return false, err
		}
		defer db.Close()
		shard := &Sharded{ids: map[string]bool{}}
		s.Shards = append(s.Shards, shard)
		for i, b := range all {
			if err := ledgers[i].read(ctx, &rig.Sale{DB: db}, b, shard); err != nil {
				return false, err
			}
		}
	}
	var claims []rig.Claim
	s.Audit = Audit{Server: "all shards"}
	for i, b := range all {
		one := ledgers[i].judge(b)
		s.Audit.add(one)
		s.Moved += ledgers[i].moved
		if one.StockLeft > 0 || !one.keptWith(one) {
			b.Violations.Add("coupon %d: %+v", b.coupon, one)
		}
		s.Violations = append(s.Violations, b.All()...)
		claims = append(claims, b.Claims()...)
	}
	claims = trial.Sorted(claims)
	s.Outage = outageOf(claims, struck, end)
	sold, had := 0, 0
	for _, shard := range s.Shards {
		var own []rig.Claim
		for _, c := range claims {
			if shard.ids[c.Order] {
				own = append(own, c)
			}
		}
		o := outageOf(own, struck, end)
		if shard.Orders, shard.Gap = len(shard.ids), o.Gap; shard.Orders > 0 {
			had++
		}
		if o.Before > 0 {
			sold++
		}
	}
	return had > 1 && sold == had, nil
}

// read adds what a shard has of b's coupon.
func (l *ledger) read(ctx context.Context, own *rig.Sale, b *buyers, shard *Sharded) error {
	const q = `
		SELECT COALESCE((SELECT SUM(initial_stock) FROM coupons WHERE id = ?), 0) AS initial,
			COALESCE((SELECT SUM(stock) FROM coupons WHERE id = ?), 0) +
			COALESCE((SELECT SUM(stock) FROM coupon_segments WHERE coupon_id = ?), 0) +
			COALESCE((SELECT SUM(units) FROM coupon_transfers WHERE coupon_id = ?), 0) AS stock,
			COALESCE((SELECT SUM(units) FROM coupon_transfers WHERE coupon_id = ? AND units > 0), 0) AS moved`
	var has struct{ Initial, Stock, Moved int }
	id := b.coupon
	if err := own.DB.GetContext(ctx, &has, q, id, id, id, id, id); err != nil {
		return fmt.Errorf("audit coupon %d: %w", id, err)
	}
	l.initial, l.stock, l.moved = l.initial+has.Initial, l.stock+has.Stock, l.moved+has.Moved
	orders, err := own.Orders(ctx, id)
	if l.orders == nil {
		l.orders = map[string]rig.Order{}
	}
	for _, o := range orders {
		if _, other := l.orders[o.ID]; other {
			b.Violations.Add("order %s is on two shards", o.ID)
		}
		l.orders[o.ID], shard.ids[o.ID] = o, true
	}
	return err
}

// judge compares what the shards have of b's coupon with what its users were told. Each may have one.
func (l *ledger) judge(b *buyers) Audit {
	users := map[int64]bool{}
	for _, o := range l.orders {
		users[o.User] = true
	}
	a := Audit{
		Orders: len(l.orders), Users: len(users), StockLeft: l.stock, Oversold: max(0, len(l.orders)-l.initial),
		Duplicates: len(l.orders) - len(users), Unbalanced: l.stock+len(l.orders) != l.initial,
	}
	told := b.Told(0)
	for _, c := range told {
		if o, found := l.orders[c.Order]; !found || o.User != c.User {
			a.Missing++
		}
	}
	a.Untold = a.Orders - (len(told) - a.Missing)
	return a
}

// add adds another coupon's.
func (a *Audit) add(other Audit) {
	a.Orders, a.Users, a.StockLeft = a.Orders+other.Orders, a.Users+other.Users, a.StockLeft+other.StockLeft
	a.Oversold, a.Duplicates = a.Oversold+other.Oversold, a.Duplicates+other.Duplicates
	a.Missing, a.Untold = a.Missing+other.Missing, a.Untold+other.Untold
	a.Unbalanced = a.Unbalanced || other.Unbalanced
}
