package coupon

import (
	"time"

	"example.com/flashsale/internal/batchread"
)

// MinEvictAt is the least number of entries at which expired ones are evicted.
const MinEvictAt = minEvictAt

// Entries returns the number of cached coupons.
func Entries(c *Cache) int {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return len(c.entries)
}

// StoreLoaded caches what a read of the store has returned.
func StoreLoaded(c *Cache, loaded Coupon) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.put(loaded, time.Now().Add(c.ttl))
}

// AwaitSlowReads lets no read of the store begin before the one before it has ended.
func AwaitSlowReads(c *Cache) { c.reads = batchread.New(time.Hour, c.read) }
