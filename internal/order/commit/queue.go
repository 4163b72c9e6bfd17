package commit

import (
	"slices"

	"example.com/flashsale/internal/order"
)

// A queue holds the orders of one segment that wait for a batch. It exists while there
// are any, and while a batch has orders of the segment.
type queue struct {
	segment order.Segment
	orders  []*pending // in order of arrival
}

// enqueue appends p to its segment's queue. If no batch has orders of the segment,
// the next batch takes it. It returns false after Close. The slots of claims
// bound the queues.
func (g *groupCommit) enqueue(p *pending) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return false
	}
	q := g.queues[p.segment]
	if q == nil {
		q = &queue{segment: p.segment}
		g.queues[q.segment] = q
		g.ready = append(g.ready, q)
	}
	q.orders = append(q.orders, p)
	g.startWorker()
	return true
}

// dequeue removes p if it is still queued, and reports whether no batch has taken it. While
// a segment's batch waits for a lock, its queue would otherwise grow with each caller that
// gives up.
func (g *groupCommit) dequeue(p *pending) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if q := g.queues[p.segment]; q != nil {
		if i := slices.Index(q.orders, p); i >= 0 {
			q.orders = slices.Delete(q.orders, i, i+1)
		}
	}
	return !p.taken
}

// next takes the next batch. It returns nil, and counts the worker as ended, if
// no segment is ready. The segments of done, the worker's last batch, may be in the
// next one.
func (g *groupCommit) next(done *batch) *batch {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.makeReady(done)
	b := &batch{outbox: g.cfg.Outbox}
	for len(g.ready) > 0 && len(b.orders) < maxBatch && len(b.parts) < maxPartsOf(g.ready[0]) {
		q := g.ready[0]
		g.ready[0] = nil
		g.ready = g.ready[1:]
		g.move(q, b)
	}
	if len(b.parts) == 0 {
		g.running--
		return nil
	}
	slices.SortFunc(b.parts, func(p, q part) int { return p.queue.segment.Compare(q.queue.segment) })
	g.startWorker()
	return b
}

// maxPartsOf returns how many segments a batch with orders of q may have.
func maxPartsOf(q *queue) int {
	if q.segment.Sharded {
		return 1
	}
	return maxParts
}

// nextOf takes the next batch of one segment, or returns nil.
func (g *groupCommit) nextOf(q *queue) *batch {
	g.mu.Lock()
	defer g.mu.Unlock()
	b := &batch{outbox: g.cfg.Outbox}
	if g.move(q, b); len(b.parts) == 0 {
		return nil
	}
	return b
}

// requeue makes the segments of a split batch ready again.
func (g *groupCommit) requeue(b *batch) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.makeReady(b)
	g.startWorker()
}

func (g *groupCommit) makeReady(b *batch) {
	if b == nil {
		return
	}
	for _, p := range b.parts {
		g.ready = append(g.ready, p.queue)
	}
}

// move moves orders from q to b, up to maxBatch, and drops those whose context
// has ended. It deletes a queue that had no other.
func (g *groupCommit) move(q *queue, b *batch) {
	room := maxBatch - len(b.orders)
	n := 0
	var orders []*pending
	for ; n < len(q.orders) && len(orders) < room; n++ {
		if q.orders[n].ctx.Err() == nil {
			q.orders[n].taken = true
			orders = append(orders, q.orders[n])
		}
	}
	q.orders = q.orders[n:]
	if len(orders) == 0 {
		delete(g.queues, q.segment)
		return
	}
	b.add(part{q, orders})
}
