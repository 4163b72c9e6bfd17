package soak

import (
	"context"
	"encoding/json"
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

// Orders of a ruled coupon can end. A user may have perUser of them.
const (
	perUser = 3
	hold    = 10 * time.Second
)

// coupons are the ids of all coupons but the steady one, the newest last.
type coupons struct {
	mu    sync.Mutex
	ids   []int64
	ruled []int64
}

func (c *coupons) add(id int64, ruled bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ids = append(c.ids, id); ruled {
		c.ruled = append(c.ruled, id)
	}
}

func (c *coupons) isRuled(id int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Contains(c.ruled, id)
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

// manageCoupons creates a coupon in every period, which users claim already before
// its sale begins, and restocks a recent one. The stock of every other coupon is
// split, and every third is ruled.
func manageCoupons(ctx context.Context, m *market, period time.Duration) {
	for n := 1; ctx.Err() == nil; n++ {
		coupon := rig.CouponFrom(time.Now().Add(period/4), fmt.Sprintf("coupon %d", n), stock)
		coupon.Segments = 1 + n%2*(segments-1)
		ruled := n%3 == 2
		if ruled {
			coupon.Limit, coupon.Hold, coupon.Returned = perUser, int(hold.Seconds()), true
		}
		var created struct {
			ID int64 `json:"id,string"`
		}
		if json.Unmarshal(m.post(ctx, "/coupons", coupon, http.StatusCreated), &created) != nil {
			return // the sale is over
		}
		m.coupons.add(created.ID, ruled)
		if rig.Sleep(ctx, period/2) {
			restock(ctx, m, m.coupons.pick())
		}
		rig.Sleep(ctx, period/2)
	}
}

// restock adds to a coupon's stock. A second later, no claim may be refused as
// sold out unless the coupon is: a cache may let too many claims through, never
// too few. Units of a ruled coupon come and go.
func restock(ctx context.Context, m *market, coupon int64) {
	m.post(ctx, fmt.Sprintf("/coupons/%d/stock", coupon), map[string]int{"add": restockedBy}, http.StatusOK)
	if !rig.Sleep(ctx, time.Second) || m.coupons.isRuled(coupon) {
		return
	}
	before, err := m.sale.Stock(ctx, coupon)
	if err != nil {
		return // the database is restarting
	}
	got := m.claim(ctx, m.nginx, m.newUser(), coupon)
	after, err := m.sale.Stock(ctx, coupon)
	if err == nil && before > 0 && after > 0 && got.Verdict == "sold_out" {
		m.Violations.Add("coupon %d was reported sold out with %d left", coupon, after)
	}
}
