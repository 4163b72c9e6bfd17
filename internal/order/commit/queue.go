package commit

import (
	"slices"

	"example.com/flashsale/internal/order"
)

// A queue holds the orders of one coupon, on a sharded database of one segment, that wait for a batch. It exists while
// there are any, and while a batch has orders of the coupon.
type queue struct {
	of     order.Segment
	orders []*pending // in order of arrival
}

// queued returns whose queue p waits in.
func (p *pending) queued() order.Segment {
	if p.segment.Sharded {
		return p.segment
	}
	return order.Segment{CouponID: p.CouponID}
}

// enqueue appends p to its coupon's queue. If no batch has orders of the coupon,
// the next batch takes it. It returns false after Close. The slots of claims
// bound the queues.
func (g *groupCommit) enqueue(p *pending) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return false
	}
	q := g.queues[p.queued()]
	if q == nil {
		q = &queue{of: p.queued()}
		g.queues[q.of] = q
		g.ready = append(g.ready, q)
	}
	q.orders = append(q.orders, p)
	g.startWorker()
	return true
}

// dequeue removes p if it is still queued, and reports whether no batch has taken it. While
// a coupon's batch waits for a lock, its queue would otherwise grow with each caller that
// gives up.
func (g *groupCommit) dequeue(p *pending) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if q := g.queues[p.queued()]; q != nil {
		if i := slices.Index(q.orders, p); i >= 0 {
			q.orders = slices.Delete(q.orders, i, i+1)
		}
	}
	return !p.taken
}

// next takes the next batch. It returns nil, and counts the worker as ended, if
// no coupon is ready. The coupons of done, the worker's last batch, may be in the
// next one.
func (g *groupCommit) next(done *batch) *batch {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.makeReady(done)
	b := &batch{outbox: g.outbox}
	for len(g.ready) > 0 && len(b.orders) < maxBatch && (len(b.parts) == 0 || !g.ready[0].of.Sharded) {
		q := g.ready[0]
		g.ready[0] = nil
		g.ready = g.ready[1:]
		g.move(q, b)
	}
	if len(b.parts) == 0 {
		g.running--
		return nil
	}
	g.startWorker()
	return b
}

// nextOf takes the next batch of one coupon, or returns nil.
func (g *groupCommit) nextOf(q *queue) *batch {
	g.mu.Lock()
	defer g.mu.Unlock()
	b := &batch{outbox: g.outbox}
	if g.move(q, b); len(b.parts) == 0 {
		return nil
	}
	return b
}

// requeue makes the coupons of a split batch ready again.
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
		delete(g.queues, q.of)
		return
	}
	b.add(part{q, orders})
}
