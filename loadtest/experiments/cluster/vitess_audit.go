package cluster

import (
	"context"
	"fmt"
	"time"

	"github.com/jmoiron/sqlx"

	"example.com/flashsale/internal/lab"
	"example.com/flashsale/loadtest/rig"
	"example.com/flashsale/loadtest/trial"
)

// audit audits b's coupon by what the shards have together. met says that several shards have
// orders, and that each of them had sold when the fault struck.
func (s *Sharding) audit(ctx context.Context, b *buyers, struck trial.Span, end time.Time) (met bool, err error) {
	servers, err := s.servers(ctx)
	if err != nil {
		return false, err
	}
	var l ledger
	if s.Audit, l, err = audit(ctx, "all shards", s.fleet.Sale, b, servers...); err != nil {
		return false, err
	}
	if s.Audit.Stock > 0 || !s.Audit.keptWith(s.Audit, false) {
		b.Violations.Add("coupon %d: %+v", b.coupon, s.Audit)
	}
	claims := b.Claims()
	s.Violations, s.Moved, s.Outage = b.All(), l.moved, outageOf(claims, struck, end)
	own, orders := make([][]rig.Claim, len(servers)), make([]int, len(servers))
	for _, shard := range l.servers {
		orders[shard]++
	}
	for _, c := range claims {
		if shard, found := l.servers[c.Order]; found {
			own[shard] = append(own[shard], c)
		}
	}
	had, sold := 0, true
	for i := range servers {
		o := outageOf(own[i], struck, end)
		s.Shards = append(s.Shards, &Sharded{orders[i], o.Gap})
		if orders[i] > 0 {
			had, sold = had+1, sold && o.Before > 0
		}
	}
	return had > 1 && sold, nil
}

// expire lets all orders expire. Their units have to come back, and their events to be
// published, which removes them.
func (s *Sharding) expire(ctx context.Context) error {
	for _, table := range []string{"coupon_orders", "coupon_holds"} {
		if err := s.onEach(ctx, "UPDATE "+table+" SET expires_at = UTC_TIMESTAMP(3)"); err != nil {
			return err
		}
	}
	const left = `
		SELECT (SELECT COUNT(*) FROM coupon_orders) + (SELECT COUNT(*) FROM coupon_holds) +
			(SELECT COUNT(*) FROM coupon_events) + ABS((SELECT SUM(initial_stock - stock) FROM coupons) -
			(SELECT COALESCE(SUM(stock), 0) FROM coupon_segments) - (SELECT COALESCE(SUM(units), 0) FROM coupon_transfers))`
	n, err := s.fleet.AwaitNone(ctx, settleLimit, left)
	if n > 0 {
		s.Violations = append(s.Violations, fmt.Sprintf("%d orders, holds, events and missing units are left", n))
	}
	return err
}

// servers returns the server of each shard's primary.
func (s *Sharding) servers(ctx context.Context) (all []*lab.MySQL, err error) {
	for _, shard := range s.vitess.Shards {
		primary, err := s.vitess.Primary(ctx, shard)
		if err != nil {
			return nil, err
		}
		all = append(all, primary.MySQL)
	}
	return all, nil
}

// onEach executes a statement on the server of each shard, as nothing of the service does.
func (s *Sharding) onEach(ctx context.Context, q string, args ...any) error {
	servers, err := s.servers(ctx)
	if err != nil {
		return err
	}
	for _, m := range servers {
		err := ask(m, s.fleet.Name, func(db *sqlx.DB) error {
			_, err := db.ExecContext(ctx, q, args...)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
