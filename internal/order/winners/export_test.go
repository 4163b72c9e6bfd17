package winners

// Limit bounds what w remembers, before its first claim.
func Limit(w *Winners, orders, filterBytes int) {
	w.recentOrders = newRecentOrders(orders)
	w.filters.maxBytes = filterBytes
}

// FilterBytes returns the memory of all filters.
func FilterBytes(w *Winners) int {
	w.filters.mu.RLock()
	defer w.filters.mu.RUnlock()
	return w.filters.bytes
}

// FilterLoaded reports whether a coupon's filter for a version is loaded.
func FilterLoaded(w *Winners, couponID, version int64) bool {
	w.filters.mu.RLock()
	defer w.filters.mu.RUnlock()
	f := w.filters.byCoupon[couponID]
	return f != nil && f.loaded.Load() != nil && f.loaded.Load().version == version
}

// FilterOverhead is the least memory of a filter.
const FilterOverhead = filterOverhead
