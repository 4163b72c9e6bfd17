package soak

import (
	"context"
	"sync"

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
	claims := make([]claim, left+beyond)
	for i := range claims {
		claims[i] = claim{rig.UserID(users + 1<<20 + i), coupon}
	}
	count := map[string]int{}
	r.claimAll(ctx, claims, func(_ claim, verdict string) { count[verdict]++ })
	if count[rig.Accepted] != left || count["sold_out"] != beyond {
		r.violations.add("I3: coupon %d had %d left, and %d new users got %v", coupon, left, left+beyond, count)
	}
	return ctx.Err()
}

// claimAll sends claims through nginx, as many at a time as there are user loops.
func (r *run) claimAll(ctx context.Context, claims []claim, each func(c claim, verdict string)) {
	slots := make(chan struct{}, userLoops)
	var mu sync.Mutex
	var wg sync.WaitGroup
	for _, c := range claims {
		slots <- struct{}{}
		wg.Go(func() {
			verdict := r.claim(ctx, r.nginx, c).verdict()
			<-slots
			mu.Lock()
			defer mu.Unlock()
			each(c, verdict)
		})
	}
	wg.Wait()
}
