package soak

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"example.com/flashsale/loadtest/rig"
)

// steadyPeriod is the time between the claims of steadyClaims.
const steadyPeriod = 100 * time.Millisecond

// steadyStock is more than steadyClaims and the checks after each fault can sell
// in d, so that the coupon never sells out before the end.
func steadyStock(d time.Duration) int { return 1000 + 5*int(d/steadyPeriod) }

// promptLimit is how soon a claim gets its verdict unless something holds it up.
const promptLimit = 500 * time.Millisecond

// A tally counts the claims of steadyClaims at one instance that have a reply,
// and those of them that got a prompt verdict.
type tally struct{ claims, prompt atomic.Int64 }

type counts struct{ claims, prompt int64 }

func (t *tally) read() counts { return counts{t.claims.Load(), t.prompt.Load()} }

// steadyClaims claims the steady coupon at an instance, whether or not it replies
// to earlier claims: at the same moment for two new users and for one who has an
// order from the other instance. A batch with such a user is committed step by
// step.
func (r *run) steadyClaims(ctx context.Context, i, other *instance) error {
	var sent sync.WaitGroup
	defer sent.Wait()
	for rig.Sleep(ctx, steadyPeriod) {
		first, second, repeated := r.newUser(r.steady), r.newUser(r.steady), claim{other.lastUser.Load(), r.steady}
		i.lastUser.Store(first.user)
		for _, c := range []claim{first, repeated, second} {
			sent.Go(func() {
				begin := time.Now()
				verdict := r.claim(ctx, i.client, c).verdict()
				i.tally.claims.Add(1)
				if verdict != unknown && time.Since(begin) < promptLimit {
					i.tally.prompt.Add(1)
				}
			})
		}
	}
	return nil
}

// newUser returns a claim of a user who has not claimed before.
func (r *run) newUser(coupon int64) claim {
	return claim{rig.UserID(users + 2<<20 + int(r.newUsers.Add(1))), coupon}
}
