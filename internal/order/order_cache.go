package order

import "sync"

// An orderCache holds order ids by coupon and user. It forgets the oldest half
// of its entries at a time, in constant time.
type orderCache struct {
	half int // entries in a full map

	mu    sync.RWMutex
	young map[orderKey]int64
	old   map[orderKey]int64
}

type orderKey struct{ couponID, userID int64 }

// maxCachedOrders bounds an orderCache, at some 40 bytes an entry.
const maxCachedOrders = 1_000_000

func newOrderCache(limit int) *orderCache {
	return &orderCache{half: limit / 2, young: map[orderKey]int64{}}
}

func (c *orderCache) find(couponID, userID int64) (orderID int64, found bool) {
	key := orderKey{couponID, userID}
	c.mu.RLock()
	defer c.mu.RUnlock()
	if orderID, found = c.young[key]; !found {
		orderID, found = c.old[key]
	}
	return orderID, found
}

func (c *orderCache) add(couponID, userID, orderID int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.young) == c.half {
		c.young, c.old = map[orderKey]int64{}, c.young
	}
	c.young[orderKey{couponID, userID}] = orderID
}
