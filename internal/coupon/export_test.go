package coupon

// MaxEntries is when stale entries are dropped.
const MaxEntries = maxEntries

// Entries is how many coupons the cache holds.
func Entries(c *Cache) int {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return len(c.entries)
}
