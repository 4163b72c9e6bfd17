package soak

import (
	"context"

	"example.com/flashsale/loadtest/rig"
)

// sellOut sends claims of more new users than a coupon has units left. All units
// must be sold (I3), and only the other claims may be refused.
func (r *run) sellOut(ctx context.Context, coupon int64) error {
	left, err := r.stock(ctx, coupon)
	if err != nil {
		return err
	}
	const beyond = 20
	verdicts := make(chan string)
	slots := make(chan struct{}, userLoops)
	for i := range left + beyond {
		go func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			verdicts <- r.claim(ctx, claim{rig.UserID(users + 1<<20 + i), coupon}).verdict()
		}()
	}
	count := map[string]int{}
	for range left + beyond {
		count[<-verdicts]++
	}
	if count[rig.Accepted] != left || count["sold_out"] != beyond {
		r.violations.add("I3: coupon %d had %d left, and %d new users got %v", coupon, left, left+beyond, count)
	}
	return ctx.Err()
}
