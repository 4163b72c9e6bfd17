package winners

import (
	"sync"

	"example.com/flashsale/internal/coupon"
	"example.com/flashsale/internal/order"
)

// A recentOrders holds orders by coupon and claimant. It forgets the oldest half
// of its entries at a time, in constant time.
type recentOrders struct {
	half int // entries in a full generation

	mu         sync.RWMutex
	young, old map[recentKey]recentOrder
}

type recentKey struct {
	couponID int64
	order.Claimant
}

// A recentOrder is valid while the coupon's version is not above the one that was known
// before the order was seen.
type recentOrder struct{ id, version int64 }

// maxRecentOrders bounds a recentOrders, at some 100 bytes an entry. At 20,000
// orders a second it holds those of the last 12 to 25 seconds.
const maxRecentOrders = 500_000

func newRecentOrders(limit int) *recentOrders {
	return &recentOrders{half: limit / 2, young: map[recentKey]recentOrder{}}
}

// Find implements order.Winners.
func (r *recentOrders) Find(c coupon.Coupon, by order.Claimant) (orderID int64, found bool) {
	key := recentKey{c.ID, by}
	r.mu.RLock()
	defer r.mu.RUnlock()
	o, found := r.young[key]
	if !found {
		o, found = r.old[key]
	}
	return o.id, found && o.version >= c.Version
}

// Add implements order.Winners.
func (r *recentOrders) Add(c coupon.Coupon, by order.Claimant, orderID int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.young) >= r.half {
		r.young, r.old = map[recentKey]recentOrder{}, r.young
	}
	r.young[recentKey{c.ID, by}] = recentOrder{orderID, c.Version}
}
