package order

import "slices"

// A queue holds the claims of one coupon that wait for a batch. It exists while
// there are any, and while a batch has claims of the coupon.
type queue struct {
	couponID int64
	claims   []*claim // in order of arrival
}

// enqueue appends c to its coupon's queue. If no batch has claims of the coupon,
// the next batch takes it. It returns false after Close. The slots of Claims
// bound the queues.
func (g *groupCommit) enqueue(c *claim) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return false
	}
	q := g.queues[c.CouponID]
	if q == nil {
		q = &queue{couponID: c.CouponID}
		g.queues[c.CouponID] = q
		g.ready = append(g.ready, q)
	}
	q.claims = append(q.claims, c)
	g.startCommitter()
	return true
}

// startCommitter starts a committer goroutine if a coupon is ready and fewer
// than maxCommitters run.
func (g *groupCommit) startCommitter() {
	if len(g.ready) > 0 && g.running < maxCommitters {
		g.running++
		g.committers.Go(g.commitReady)
	}
}

// dequeue removes c if it is still queued. While a coupon's batch waits for a
// lock, its queue would otherwise grow with each claim that gives up.
func (g *groupCommit) dequeue(c *claim) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if q := g.queues[c.CouponID]; q != nil {
		if i := slices.Index(q.claims, c); i >= 0 {
			q.claims = slices.Delete(q.claims, i, i+1)
		}
	}
}

// next takes the next batch. It returns nil, and counts the committer as ended,
// if no coupon is ready. The coupons of done, the committer's last batch, may
// be in the next one.
func (g *groupCommit) next(done *batch) *batch {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.makeReady(done)
	b := &batch{}
	for len(g.ready) > 0 && len(b.claims) < maxBatch {
		q := g.ready[0]
		g.ready[0] = nil
		g.ready = g.ready[1:]
		g.move(q, b)
	}
	if len(b.parts) == 0 {
		g.running--
		return nil
	}
	g.startCommitter()
	return b
}

// nextOf takes the next batch of one coupon, or returns nil.
func (g *groupCommit) nextOf(q *queue) *batch {
	g.mu.Lock()
	defer g.mu.Unlock()
	b := &batch{}
	if g.move(q, b); len(b.parts) == 0 {
		return nil
	}
	return b
}

// giveBack makes the coupons of a batch ready that was not a committer's.
func (g *groupCommit) giveBack(b *batch) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.makeReady(b)
	g.startCommitter()
}

func (g *groupCommit) makeReady(b *batch) {
	if b == nil {
		return
	}
	for _, p := range b.parts {
		g.ready = append(g.ready, p.queue)
	}
}

// move moves claims from q to b, up to maxBatch, and drops those whose context
// has ended. It deletes a queue that had no other.
func (g *groupCommit) move(q *queue, b *batch) {
	room := maxBatch - len(b.claims)
	n := 0
	var claims []*claim
	for ; n < len(q.claims) && len(claims) < room; n++ {
		if q.claims[n].ctx.Err() == nil {
			claims = append(claims, q.claims[n])
		}
	}
	q.claims = q.claims[n:]
	if len(claims) == 0 {
		delete(g.queues, q.couponID)
		return
	}
	b.add(part{q, claims})
}
