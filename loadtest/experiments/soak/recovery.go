package soak

import (
	"context"
	"sync"
	"time"
)

const (
	// sellLimit is how long a coupon may not sell after a fault has healed, and
	// at an instance that the fault does not strike.
	sellLimit   = 5 * time.Second
	retryPeriod = 100 * time.Millisecond
	recoverEnd  = 3 * sellLimit // when awaitSales gives up
)

// awaitSales waits until each client gets a verdict on each recent coupon and on
// the steady one, which is never sold out. It returns how long that took. More
// than sellLimit is a violation, whose message begins with when.
func (r *run) awaitSales(ctx context.Context, when string, clients ...client) time.Duration {
	coupons := append(r.coupons.recent(), r.steady)
	took := make(chan time.Duration)
	for _, c := range clients {
		for _, coupon := range coupons {
			go func() {
				d := r.awaitVerdict(ctx, c, coupon)
				if d > sellLimit && ctx.Err() == nil {
					r.violations.add("%s: coupon %d did not sell at %s for %.1f s", when, coupon,
						c.name(), d.Seconds())
				}
				took <- d
			}()
		}
	}
	var longest time.Duration
	for range len(clients) * len(coupons) {
		longest = max(longest, <-took)
	}
	return longest
}

// awaitVerdict sends claims of new users, whether or not the earlier ones have a
// reply, and returns how long it took until the first verdict.
func (r *run) awaitVerdict(ctx context.Context, c client, coupon int64) time.Duration {
	begin := time.Now()
	ctx, cancel := context.WithTimeout(ctx, recoverEnd)
	defer cancel()
	var sent sync.WaitGroup
	defer sent.Wait()
	verdicts := make(chan struct{}, 1)
	for {
		sent.Go(func() {
			if r.claim(ctx, c, r.newUser(coupon)).verdict() != unknown {
				select {
				case verdicts <- struct{}{}:
				default:
				}
			}
		})
		select {
		case <-verdicts:
			return time.Since(begin)
		case <-ctx.Done():
			return time.Since(begin)
		case <-time.After(retryPeriod):
		}
	}
}
