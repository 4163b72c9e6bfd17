package commit

import "example.com/flashsale/internal/order"

// Queued returns the number of queues of a group commit, of which each belongs to
// a coupon, and how many orders they hold.
func Queued(c order.Committer) (queues, orders int) {
	g := c.(*groupCommit)
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, q := range g.queues {
		orders += len(q.orders)
	}
	return len(g.queues), orders
}

// MaxWorkers is how many shared batches are committed at a time, MaxBatch how many orders they have.
const (
	MaxWorkers = maxWorkers
	MaxBatch   = maxBatch
)

// OccupyWorkers lets later orders be queued, as if every worker were waiting for
// the server. After release, the queued ones are the next batch.
func OccupyWorkers(c order.Committer) (release func()) {
	g := c.(*groupCommit)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.running += maxWorkers
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.running -= maxWorkers
		g.startWorker()
	}
}

// AtPool returns how many claims a committer without batches has, with a connection of the
// pool or waiting for one.
func AtPool(c order.Committer) int {
	u := c.(*perClaim).slots.Usage()
	return u.Running + u.Waiting
}
