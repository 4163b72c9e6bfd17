package order

// LimitWinners bounds what c remembers, before its first claim.
func LimitWinners(c *Claims, orders, filterBytes int) {
	c.winners.orders = newOrderCache(orders)
	c.winners.filters.maxBytes = filterBytes
}

// FilterBytes returns the memory of all filters.
func FilterBytes(c *Claims) int {
	w := c.winners.filters
	w.mu.RLock()
	defer w.mu.RUnlock()
	return w.bytes
}

// FilterLoaded reports whether a coupon's filter for an initial stock is loaded.
func FilterLoaded(c *Claims, couponID int64, initialStock int) bool {
	w := c.winners.filters
	w.mu.RLock()
	defer w.mu.RUnlock()
	f := w.byCoupon[couponID]
	return f != nil && f.initialStock == initialStock && f.users.Load() != nil
}

// FilterOverhead is the least memory of a filter.
const FilterOverhead = filterOverhead

// Queued returns the number of claims that wait for a batch.
func Queued(c *Claims) int {
	g := c.strategy.(*groupCommit)
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.queued()
}

func (g *groupCommit) queued() (n int) {
	for _, q := range g.queues {
		n += len(q.claims)
	}
	return n
}

// Committing reports whether a batch is being committed and no claim is queued.
func Committing(c *Claims) bool {
	g := c.strategy.(*groupCommit)
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.queues) > 0 && g.queued() == 0
}

// LimitRunning sets the number of slots, before the first claim.
func LimitRunning(c *Claims, n int) { c.slots = newSlots(n, c.slots.limits) }

// WaitingForSlots returns the number of a coupon's claims that wait for a slot.
func WaitingForSlots(c *Claims, couponID int64) int {
	c.slots.mu.Lock()
	defer c.slots.mu.Unlock()
	if coupon := c.slots.coupons[couponID]; coupon != nil {
		return coupon.waiters.Len()
	}
	return 0
}

// UserKey returns the lock key of a user's claims.
func UserKey(userID int64) string { return userKey(userID, segment{}) }

// MaxCommitters is how many shared batches are committed at a time.
const MaxCommitters = maxCommitters

// OccupyCommitters lets later claims be queued, as if every committer were
// waiting for the server. After release, the queued ones are the next batch.
func OccupyCommitters(c *Claims) (release func()) {
	g := c.strategy.(*groupCommit)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.running += maxCommitters
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.running -= maxCommitters
		g.startCommitter()
	}
}

// Queues returns the number of queues, of which each belongs to a coupon.
func Queues(c *Claims) int {
	g := c.strategy.(*groupCommit)
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.queues)
}
