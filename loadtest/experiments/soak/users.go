package soak

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"example.com/flashsale/loadtest/rig"
	"example.com/flashsale/loadtest/trial"
)

const (
	userLoops = 64
	users     = 4000 // more than a coupon's stock with its restocking
)

// userLoop claims as a random user, sometimes twice at once, and sometimes reads, uses or
// returns an order.
func userLoop(ctx context.Context, m *market, c trial.Client) {
	for rig.Sleep(ctx, rand.N(20*time.Millisecond)) {
		coupon := m.coupons.pick()
		one := rig.Claim{User: rig.UserID(rand.N(users)), Coupon: coupon.id}
		if one.Coupon == 0 {
			continue
		}
		if coupon.ruled {
			one.Number = 1 + rand.N(perUser)
		}
		switch percent := rand.N(100); {
		case percent < 5:
			var other sync.WaitGroup
			other.Go(func() { c.Claim(ctx, one) })
			c.Claim(ctx, one)
			other.Wait()
		case percent < 10:
			m.change(ctx, one, c.Read)
		case percent < 30 && coupon.ruled:
			m.change(ctx, one, c.Return)
		case percent < 40 && coupon.ruled:
			m.change(ctx, one, c.Use)
		default:
			c.Claim(ctx, one)
		}
	}
}

// steadyPeriod is the time between the claims of claimSteadily.
const steadyPeriod = 100 * time.Millisecond

// steadyStock is more than claimSteadily and the checks after each fault can sell
// in d, so that the coupon never sells out before the end.
func steadyStock(d time.Duration) int { return 1000 + 5*int(d/steadyPeriod) }

// claimSteadily claims the steady coupon at an instance, whether or not it replies
// to earlier claims: at the same moment for two new users and for one who has an
// order from the other instance. A batch with such a user is committed step by
// step. last and other are the last users of the two instances.
func claimSteadily(ctx context.Context, m *market, c trial.Client, last, other *atomic.Int64) {
	var sent sync.WaitGroup
	defer sent.Wait()
	for rig.Sleep(ctx, steadyPeriod) {
		first, second, repeated := m.newUser(), m.newUser(), other.Load()
		last.Store(first)
		for _, user := range []int64{first, repeated, second} {
			sent.Go(func() { c.Claim(ctx, rig.Claim{User: user, Coupon: m.steady}) })
		}
	}
}
