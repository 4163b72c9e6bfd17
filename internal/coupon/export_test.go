package coupon

// MaxEntries is the number of coupons at which expired entries are evicted.
const MaxEntries = maxEntries

// Entries returns the number of cached coupons.
func Entries(c *Cache) int {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return len(c.entries)
}
