package order

// Waiting is how many claims are queued behind a transaction.
func Waiting(c *Claims) int {
	g := c.strategy.(*groupCommit)
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.waiting
}

// Serving reports whether a batch has been taken from an otherwise empty queue.
func Serving(c *Claims) bool {
	g := c.strategy.(*groupCommit)
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.lanes) > 0 && g.waiting == 0
}

// UserKey is what a claim locks.
func UserKey(userID int64) string { return userKey(userID, 0) }
