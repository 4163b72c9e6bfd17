package linearizable

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"time"

	"example.com/flashsale/loadtest/generator"
	"example.com/flashsale/loadtest/rig"
)

// clientsPerCoupon claim at a time, so at most so many claims overlap: that
// bounds the search.
const clientsPerCoupon = 4

// replyLimit is longer than any reply may take.
const replyLimit = 30 * time.Second

// A client sends operations to one address and records them. Its requests outlive
// the context, so that the end of the run leaves no outcome open.
type client struct {
	claims  *generator.Client
	api     rig.Client
	signer  rig.TokenSigner
	history *history
}

func (r *run) client(address string) (client, error) {
	claims, err := generator.NewClient(address, replyLimit)
	return client{claims, rig.NewClient("http://" + address), r.stack.Signer(), &r.history}, err
}

// claimAlways claims until ctx ends: for new users, and in one of three claims for
// one of the last, who may be claiming at another address just now.
func (c client) claimAlways(ctx context.Context, random *rand.Rand, coupon int64, next func() int64) {
	for {
		user := next() - int64(max(0, random.IntN(20)-12))
		c.claim(ctx, coupon, max(1, user))
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

func (c client) claim(ctx context.Context, coupon, user int64) response {
	return c.history.record(operation{Coupon: coupon, User: user}, func() (response, int64) {
		got := c.claims.Claim(context.WithoutCancel(ctx), c.signer, user, coupon)
		order, _ := strconv.ParseInt(got.Order, 10, 64) // 0 is no order's id
		return verdictOf(got), order
	})
}

// verdictOf returns the verdict on a claim.
func verdictOf(c rig.Claim) response {
	switch {
	case c.Verdict == rig.Accepted:
		return placed
	case c.Verdict == "already_claimed", c.Verdict == "sold_out":
		return response(c.Verdict)
	case slices.Contains(refusals, c.Verdict):
		return noEffect
	}
	return unknown
}

// refusals are verdicts after which there is no order. One that is not known proves
// nothing.
var refusals = []string{rig.Overloaded, "claim_in_progress", "coupon_not_found", "not_started", "ended"}

func (c client) restock(ctx context.Context, coupon int64, units int) {
	c.history.record(operation{Coupon: coupon, Units: units}, func() (response, int64) {
		status, _, err := c.api.Do(context.WithoutCancel(ctx), http.MethodPost,
			fmt.Sprintf("/coupons/%d/stock", coupon), c.signer.Admin(), map[string]int{"add": units})
		switch {
		case err != nil, status >= http.StatusInternalServerError:
			return unknown, 0
		case status == http.StatusOK:
			return restocked, 0
		}
		return noEffect, 0
	})
}
