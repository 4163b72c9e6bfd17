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

	mu    sync.RWMutex
	young generation
	old   generation
}

// A generation holds orders in a map for each coupon and number: keys of three words
// would take twice as much memory.
type generation struct {
	size  int
	users map[numbered]map[int64]recentOrder // by user
}

type numbered struct {
	couponID int64
	number   int
}

// A recentOrder is valid while the coupon's version is not above the one that was known
// before the order was seen.
type recentOrder struct{ id, version int64 }

// maxRecentOrders bounds a recentOrders, at some 50 bytes an entry. At 20,000
// orders a second it holds those of the last 12 to 25 seconds.
const maxRecentOrders = 500_000

func newRecentOrders(limit int) *recentOrders {
	return &recentOrders{half: limit / 2, young: newGeneration()}
}

func newGeneration() generation { return generation{users: map[numbered]map[int64]recentOrder{}} }

func (r *recentOrders) find(c coupon.Coupon, by order.Claimant) (orderID int64, found bool) {
	key := numbered{c.ID, by.Number}
	r.mu.RLock()
	defer r.mu.RUnlock()
	o, found := r.young.users[key][by.UserID]
	if !found {
		o, found = r.old.users[key][by.UserID]
	}
	return o.id, found && o.version >= c.Version
}

func (r *recentOrders) add(c coupon.Coupon, by order.Claimant, orderID int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.young.size >= r.half {
		r.young, r.old = newGeneration(), r.young
	}
	r.young.add(numbered{c.ID, by.Number}, by.UserID, recentOrder{orderID, c.Version})
}

func (g *generation) add(key numbered, userID int64, o recentOrder) {
	orders := g.users[key]
	if orders == nil {
		orders = map[int64]recentOrder{}
		g.users[key] = orders
	}
	before := len(orders)
	orders[userID] = o
	g.size += len(orders) - before
}
