package coupon

import "time"

// MaxEntries is the number of coupons at which expired entries are evicted.
const MaxEntries = maxEntries

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
