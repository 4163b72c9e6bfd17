package cluster

import (
	"context"
	"time"

	"example.com/flashsale/internal/coupon"
	"example.com/flashsale/internal/order"
	"example.com/flashsale/loadtest/fault"
	"example.com/flashsale/loadtest/rig"
	"example.com/flashsale/loadtest/trial"
	"example.com/flashsale/loadtest/verdict"
)

// Run sells a new coupon, and audits it on its shards.
func (s *Sharding) Run(ctx context.Context) (verdict.Verdict, error) {
	s.Shards, s.UnderWay = nil, 0
	s.closed.Store(false)
	b, err := s.offer(ctx)
	if err != nil {
		return "", err
	}
	course, err := s.sell(ctx, b)
	if err != nil {
		return "", err
	}
	struck := trial.Span{Begin: course.Begin.Add(calm), End: course.Begin.Add(calm)}
	for _, strike := range course.Strikes {
		struck = strike.Span
	}
	if s.spoil {
		if err := s.onEach(ctx, "DELETE FROM coupon_orders WHERE coupon_id = ? LIMIT 1", b.coupon); err != nil {
			return "", err
		}
	}
	met, err := s.audit(ctx, b, struck, course.End)
	if err == nil && s.fault == nil && !s.spoil {
		err = s.expire(ctx)
	}
	return s.Judge(s.spoil, s.Violations, met && (s.fault == nil || s.UnderWay > 0)), err
}

// sell sells b's coupon while the fault strikes, which it does when units are under way, until all is sold.
func (s *Sharding) sell(ctx context.Context, b *buyers) (trial.Course, error) {
	if s.fault == nil {
		return s.run.play(ctx, s.fleet, trial.Schedule{Loaded: true}, b)
	}
	one := *s.fault
	one.Strike = func(ctx context.Context) error {
		for begin := time.Now(); s.UnderWay <= 0 && time.Since(begin) < settleLimit; {
			const units = "SELECT COALESCE(SUM(units), 0) FROM coupon_transfers"
			if err := s.fleet.DB.GetContext(ctx, &s.UnderWay, units); err != nil {
				return err
			}
		}
		return s.fault.Strike(ctx)
	}
	return s.run.play(ctx, s.fleet, trial.Schedule{
		Faults: []fault.Fault{one}, Rest: calm, Loaded: true,
		Recovered: func(ctx context.Context, _ trial.Strike) error {
			err := b.awaitSales(ctx)
			s.closed.Store(err == nil)
			return err
		},
	}, b, func(ctx context.Context) error { return s.restock(ctx, b) })
}

// offer adds a coupon, whose segments are on all shards. It is sold out at once, or restocked until the
// sale is closed.
func (s *Sharding) offer(ctx context.Context) (*buyers, error) {
	stock := finiteStock
	if s.fault != nil {
		stock = thinStock
	}
	id, err := s.fleet.AddCouponWithRules(ctx, stock, shardSegments, coupon.Rules{PerUser: 1, HoldSeconds: 600})
	b := &buyers{coupon: id, thin: true, users: func(n int) int64 { return mostlyOfFirst(id, n) }}
	if s.fault == nil {
		b.sellOut()
	}
	return b, err
}

// restock restocks b's coupon until the sale is closed, and then lets it be sold out.
func (s *Sharding) restock(ctx context.Context, b *buyers) error {
	store := coupon.NewStore(s.fleet.DB)
	for put := thinStock; !s.closed.Load() && rig.Sleep(ctx, restockPause); {
		if due := len(b.Told(0)) + thinStock - put; due > 0 {
			if _, err := store.Restock(ctx, b.coupon, due, 1); err == nil { // else again, maybe twice
				put += due
			}
		}
	}
	rig.Sleep(ctx, time.Second) // all instances know of the last units
	b.sellOut()
	return nil
}

const restockPause = 50 * time.Millisecond

// mostlyOfFirst returns the n-th user, three times of four one of the first segment.
func mostlyOfFirst(id int64, n int) int64 {
	const stride = 1 << 10 // users to choose from, so that two n have none in common
	cp := coupon.Coupon{ID: id, Segments: shardSegments}
	for i := range stride {
		user := rig.UserID(n*stride + i)
		if n%4 == 0 || order.OwnSegment(cp, user).Number == 0 {
			return user
		}
	}
	return rig.UserID(n * stride)
}
