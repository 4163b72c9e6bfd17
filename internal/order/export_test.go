package order

// Queued returns the number of claims that wait for a batch.
func Queued(c *Claims) int {
	g := c.strategy.(*groupCommit)
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.queued
}

// Committing reports whether a batch is being committed and no claim is queued.
func Committing(c *Claims) bool {
	g := c.strategy.(*groupCommit)
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.queues) > 0 && g.queued == 0
}

// UserKey returns the lock key of a user's claims.
func UserKey(userID int64) string { return userKey(userID, 0) }
