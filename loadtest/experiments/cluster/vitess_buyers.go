package cluster

import (
	"context"
	"time"

	"example.com/flashsale/internal/coupon"
	"example.com/flashsale/internal/order"
	"example.com/flashsale/loadtest/rig"
)

// offer adds a coupon, whose segments are on all shards. It is sold out at once, or restocked until the
// sale is closed.
func (s *Sharding) offer(ctx context.Context) (all []*buyers, err error) {
	stock := finiteStock
	if s.fault != nil {
		stock = thinStock
	}
	id, err := s.fleet.sale.AddCouponWithRules(ctx, stock, shardSegments, coupon.Rules{PerUser: 1, HoldSeconds: 600})
	return []*buyers{s.buyers(id, stock)}, err
}

// buyers returns those of a coupon, and who restocks it if it is not to be sold out at once.
func (s *Sharding) buyers(id int64, stock int) *buyers {
	b := &buyers{coupon: id, thin: true, users: func(n int) int64 { return mostlyOfFirst(id, n) }}
	if s.fault == nil {
		b.sellOut()
		return b
	}
	b.beside = func(ctx context.Context) error {
		store := coupon.NewStore(s.fleet.sale.DB)
		for put := stock; !s.closed.Load() && rig.Sleep(ctx, restockPause); {
			if due := len(b.Told(0)) + stock - put; due > 0 {
				if _, err := store.Restock(ctx, id, due, 1); err == nil { // else again, maybe twice
					put += due
				}
			}
		}
		rig.Sleep(ctx, time.Second) // all instances know of the last units
		b.sellOut()
		return nil
	}
	return b
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
