package coupon

import "time"

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
