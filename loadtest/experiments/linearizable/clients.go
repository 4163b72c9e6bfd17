package linearizable

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"

	"example.com/flashsale/loadtest/rig"
)

// clientsPerCoupon claim at a time, so at most so many claims overlap: that
// bounds the search.
const clientsPerCoupon = 4

// A client sends operations to one address and records them. Its requests outlive
// the context, so that the end of the run leaves no outcome open.
type client struct {
	rig.Client
	signer  rig.TokenSigner
	history *history
}

// claimAlways claims until ctx ends: for new users, and in one of three claims for
// one of the last, who may be claiming at another address just now. Where orders can end,
// the users come again, and some use or return what they have.
func (c client) claimAlways(ctx context.Context, random *rand.Rand, cp coupon, next func() int64) {
	for n := 0; ; n++ {
		user := max(1, next()-int64(max(0, random.IntN(20)-12)))
		if cp.ends() {
			user = 1 + user%usersWhoReturn
		}
		got := c.claim(ctx, rig.Claim{User: user, Coupon: cp.id, Number: 1 + random.IntN(max(1, cp.PerUser))})
		if got.Order != "" && cp.ends() {
			switch random.IntN(6) {
			case 0, 1:
				c.giveUp(ctx, got)
			case 2:
				c.use(ctx, got, fmt.Sprintf("%d/%d", random.Uint64(), n))
			}
		}
		if !rig.Sleep(ctx, time.Duration(5+random.IntN(30))*time.Millisecond) {
			return
		}
	}
}

// restockAlways restocks until ctx ends. No two restocks have the same number of
// units, so the database tells which of them took effect.
func (c client) restockAlways(ctx context.Context, random *rand.Rand, coupon int64) {
	for n := 1; rig.Sleep(ctx, time.Duration(600+random.IntN(900))*time.Millisecond); n++ {
		c.restock(ctx, coupon, 30+n)
	}
}

func (c client) claim(ctx context.Context, one rig.Claim) rig.Claim {
	got := c.Client.Claim(context.WithoutCancel(ctx), c.signer, one)
	c.history.add(operation{Kind: claim, Claim: got})
	return got
}

func (c client) restock(ctx context.Context, coupon int64, units int) {
	c.change(ctx, operation{Kind: restock, Claim: rig.Claim{Coupon: coupon}, Units: units}, http.MethodPost,
		fmt.Sprintf("/coupons/%d/stock", coupon), c.signer.Admin(), map[string]int{"add": units})
}

func (c client) giveUp(ctx context.Context, of rig.Claim) {
	c.change(ctx, operation{Kind: giveUp, Claim: of}, http.MethodDelete, "/orders/"+of.Order,
		c.signer.User(of.User), nil)
}

func (c client) use(ctx context.Context, of rig.Claim, reference string) {
	c.change(ctx, operation{Kind: use, Claim: of, Reference: reference}, http.MethodPut, "/orders/"+of.Order+"/use",
		c.signer.Admin(), map[string]string{"reference": reference})
}

// change sends o and records what it was told.
func (c client) change(ctx context.Context, o operation, method, path, token string, body any) {
	o.Sent = time.Now()
	o.Verdict = c.Ask(context.WithoutCancel(ctx), method, path, token, body)
	o.Received = time.Now()
	c.history.add(o)
}
