package linearizable

import (
	"context"
	"math/rand/v2"
	"time"

	"example.com/flashsale/loadtest/rig"
	"example.com/flashsale/loadtest/trial"
)

// clientsPerCoupon claim at a time, so at most so many claims overlap: that
// bounds the search.
const clientsPerCoupon = 4

// claimAlways claims until ctx ends: for new users, and in one of three claims for
// one of the last, who may be claiming at another address just now. Where orders can end,
// the users come again, and some use or return what they have. Its requests outlive ctx, so that
// the end of the run leaves no outcome open.
func claimAlways(ctx context.Context, c trial.Client, random *rand.Rand, cp coupon, next func() int64) {
	whole := context.WithoutCancel(ctx)
	for {
		user := max(1, next()-int64(max(0, random.IntN(20)-12)))
		if cp.ends() {
			user = 1 + user%usersWhoReturn
		}
		got := c.Claim(whole, rig.Claim{User: user, Coupon: cp.id, Number: 1 + random.IntN(max(1, cp.PerUser))})
		if got.Order != "" && cp.ends() {
			switch random.IntN(6) {
			case 0, 1:
				c.Return(whole, got)
			case 2:
				c.Use(whole, got)
			}
		}
		if !rig.Sleep(ctx, time.Duration(5+random.IntN(30))*time.Millisecond) {
			return
		}
	}
}

// restockAlways restocks until ctx ends. No two restocks have the same number of
// units, so the database tells which of them took effect.
func restockAlways(ctx context.Context, c trial.Client, random *rand.Rand, coupon int64) {
	for n := 1; rig.Sleep(ctx, time.Duration(600+random.IntN(900))*time.Millisecond); n++ {
		c.Restock(context.WithoutCancel(ctx), coupon, 30+n)
	}
}
