package linearizable

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	"example.com/flashsale/loadtest/rig"
)

// clientsPerCoupon claim at a time, so at most so many claims overlap: that
// bounds the search.
const clientsPerCoupon = 4

// A client sends operations to one address and records them.
type client struct {
	api     rig.Client
	signer  rig.TokenSigner
	history *history
	begin   time.Time
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

func (c client) claim(ctx context.Context, coupon, user int64) verdict {
	return c.record(ctx, operation{Coupon: coupon, User: user}, fmt.Sprintf("/coupons/%d/orders", coupon),
		c.signer.User(user), nil)
}

func (c client) restock(ctx context.Context, coupon int64, units int) {
	path := fmt.Sprintf("/coupons/%d/stock", coupon)
	c.record(ctx, operation{Coupon: coupon, Units: units}, path, c.signer.Admin(), map[string]int{"add": units})
}

// record sends a request and records it. The request outlives ctx, so that the
// end of the run leaves no outcome open.
func (c client) record(ctx context.Context, o operation, path, token string, body any) verdict {
	o.Call = time.Since(c.begin)
	status, text, err := c.api.Do(context.WithoutCancel(ctx), http.MethodPost, path, token, body)
	o.Return = time.Since(c.begin)
	o.Verdict, o.Order = unknown, 0
	if err == nil {
		o.Verdict, o.Order = verdictOf(status, text)
	}
	c.history.add(o)
	return o.Verdict
}

// verdictOf returns the verdict of a reply, and the order that it names.
func verdictOf(status int, text []byte) (verdict, int64) {
	var reply struct {
		Code  string
		ID    string
		Order string `json:"order_id"`
	}
	if json.Unmarshal(text, &reply) != nil {
		return unknown, 0
	}
	switch {
	case status == http.StatusCreated:
		return placed, number(reply.ID)
	case status == http.StatusOK:
		return restocked, 0
	case reply.Code == "already_claimed":
		return alreadyClaimed, number(reply.Order)
	case reply.Code == "sold_out":
		return soldOut, 0
	case status < 500 || reply.Code == "overloaded":
		return noEffect, 0
	}
	return unknown, 0
}

// number parses an id. It returns 0 if s is none.
func number(s string) int64 {
	n, _ := strconv.ParseInt(s, 10, 64) //nolint:errcheck // 0 is no order's id
	return n
}
