package winners

import "sync"

// A recentOrders holds order ids by coupon and user. It forgets the oldest half
// of its entries at a time, in constant time.
type recentOrders struct {
	half int // entries in a full generation

	mu    sync.RWMutex
	young generation
	old   generation
}

// A generation holds order ids in a map for each coupon: keys of two words
// would take half as much memory again.
type generation struct {
	size    int
	coupons map[int64]map[int64]int64 // by coupon and user
}

// maxRecentOrders bounds a recentOrders, at some 40 bytes an entry. At 20,000
// orders a second it holds those of the last 12 to 25 seconds.
const maxRecentOrders = 500_000

func newRecentOrders(limit int) *recentOrders {
	return &recentOrders{half: limit / 2, young: newGeneration()}
}

func newGeneration() generation { return generation{coupons: map[int64]map[int64]int64{}} }

func (r *recentOrders) find(couponID, userID int64) (orderID int64, found bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if orderID, found = r.young.coupons[couponID][userID]; !found {
		orderID, found = r.old.coupons[couponID][userID]
	}
	return orderID, found
}

func (r *recentOrders) add(couponID, userID, orderID int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.young.size >= r.half {
		r.young, r.old = newGeneration(), r.young
	}
	r.young.add(couponID, userID, orderID)
}

func (g *generation) add(couponID, userID, orderID int64) {
	orders := g.coupons[couponID]
	if orders == nil {
		orders = map[int64]int64{}
		g.coupons[couponID] = orders
	}
	before := len(orders)
	orders[userID] = orderID
	g.size += len(orders) - before
}
