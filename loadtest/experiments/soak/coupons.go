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

type coupon struct {
	id    int64
	ruled bool
}

// coupons are all coupons but the steady one, the newest last.
type coupons struct {
	mu   sync.Mutex
	list []coupon
}

func (c *coupons) add(one coupon) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.list = append(c.list, one)
}

func (c *coupons) all() []coupon {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.list)
}

// recent returns the coupons that users claim from.
func (c *coupons) recent() []coupon {
	all := c.all()
	return all[max(0, len(all)-recent):]
}

// pick returns one of the recent coupons at random, or one without an id if there is none.
func (c *coupons) pick() (one coupon) {
	if newest := c.recent(); len(newest) > 0 {
		one = newest[rand.N(len(newest))]
	}
	return one
}

// manageCoupons creates a coupon in every period, which users claim already before
// its sale begins, and restocks a recent one. The stock of every other coupon is
// split, and every third is ruled.
func manageCoupons(ctx context.Context, m *market) {
	period := max(2*time.Second, m.duration/40)
	for n := 1; ctx.Err() == nil; n++ {
		c := rig.CouponFrom(time.Now().Add(period/4), fmt.Sprintf("coupon %d", n), stock)
		c.Segments = 1 + n%2*(segments-1)
		ruled := n%3 == 2
		if ruled {
			c.Limit, c.Hold, c.Returned = perUser, int(hold.Seconds()), true
		}
		var created struct {
			ID int64 `json:"id,string"`
		}
		if json.Unmarshal(m.post(ctx, "/coupons", c, http.StatusCreated), &created) != nil {
			return // the sale is over
		}
		m.coupons.add(coupon{created.ID, ruled})
		if rig.Sleep(ctx, period/2) {
			restock(ctx, m, m.coupons.pick())
		}
		rig.Sleep(ctx, period/2)
	}
}

// restock adds to a coupon's stock. A second later, no claim may be refused as
// sold out unless the coupon is: a cache may let too many claims through, never
// too few. Units of a ruled coupon come and go.
func restock(ctx context.Context, m *market, c coupon) {
	m.post(ctx, fmt.Sprintf("/coupons/%d/stock", c.id), map[string]int{"add": restockedBy}, http.StatusOK)
	if !rig.Sleep(ctx, time.Second) || c.ruled {
		return
	}
	before, err := m.Stock(ctx, c.id)
	if err != nil {
		return // the database is restarting
	}
	got := m.Client.Claim(ctx, rig.Claim{User: m.newUser(), Coupon: c.id})
	after, err := m.Stock(ctx, c.id)
	if err == nil && before > 0 && after > 0 && got.Verdict == "sold_out" {
		m.Violations.Add("coupon %d was reported sold out with %d left", c.id, after)
	}
}
