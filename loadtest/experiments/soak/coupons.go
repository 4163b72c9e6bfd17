package soak

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"time"

	"example.com/flashsale/loadtest/rig"
)

const (
	recent      = 4 // coupons that users claim from: the newest
	segments    = 8 // of every other coupon
	stock       = 1500
	restockedBy = 500
)

// coupons are the ids of all coupons, the newest last.
type coupons struct {
	mu  sync.Mutex
	ids []int64
}

func (c *coupons) add(id int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ids = append(c.ids, id)
}

func (c *coupons) all() []int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.ids)
}

// recent returns the coupons that users claim from.
func (c *coupons) recent() []int64 {
	all := c.all()
	return all[max(0, len(all)-recent):]
}

// pick returns one of the recent coupons at random, or 0 if there is none.
func (c *coupons) pick() int64 {
	newest := c.recent()
	if len(newest) == 0 {
		return 0
	}
	return newest[rand.N(len(newest))]
}

// manageCoupons creates a coupon every few seconds, which users claim already
// before its sale begins, and restocks a recent one. The stock of every other
// coupon is split.
func (r *run) manageCoupons(ctx context.Context) error {
	period := max(2*time.Second, r.duration/40)
	for n := 1; ; n++ {
		created := r.retry(ctx, http.StatusCreated, func() reply {
			coupon := rig.CouponFrom(time.Now().Add(period/4), fmt.Sprintf("coupon %d", n), stock)
			coupon.Segments = 1 + n%2*(segments-1)
			return r.nginx.createCoupon(ctx, coupon)
		})
		if ctx.Err() != nil {
			return nil //nolint:nilerr // the run is over
		}
		r.coupons.add(number(created.ID))
		if !rig.Sleep(ctx, period/2) {
			return nil
		}
		r.restock(ctx)
		if !rig.Sleep(ctx, period/2) {
			return nil
		}
	}
}

// restock adds to a coupon's stock. A second later, no claim may be refused as
// sold out unless the coupon is: a cache may let too many claims through, never
// too few.
func (r *run) restock(ctx context.Context) {
	coupon := r.coupons.pick()
	r.retry(ctx, http.StatusOK, func() reply { return r.nginx.restock(ctx, coupon, restockedBy) })
	if !rig.Sleep(ctx, time.Second) {
		return
	}
	before, err := r.stock(ctx, coupon)
	if err != nil {
		return // the database is restarting
	}
	got := r.claim(ctx, r.nginx, r.newUser(coupon))
	after, err := r.stock(ctx, coupon)
	if err == nil && before > 0 && after > 0 && got.Code == "sold_out" {
		r.violations.add("coupon %d was reported sold out with %d left", coupon, after)
	}
}

// retry repeats send until the reply has the status want, because the service
// may be unavailable, or until ctx ends.
func (r *run) retry(ctx context.Context, want int, send func() reply) reply {
	for {
		got := send()
		if got.status == want {
			return got
		}
		if got.status != 0 && got.status < 500 && ctx.Err() == nil {
			r.violations.add("unexpected reply: %+v", got)
		}
		if !rig.Sleep(ctx, 100*time.Millisecond) {
			return reply{}
		}
	}
}

func (r *run) stock(ctx context.Context, coupon int64) (int, error) {
	return r.sale.Stock(ctx, coupon)
}
