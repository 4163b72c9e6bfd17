package generator

import (
	"context"
	"time"

	"example.com/flashsale/loadtest/rig"
)

// A Phase is requests that follow one model. It ends after Duration or after Count
// requests, whichever is first; 0 is no limit.
//
// With a Rate the model is open: requests are due at that rate whether or not
// earlier ones have a reply, and one that finds no free connection opens another.
// Otherwise it is closed: each of Clients sends its next request after the reply to
// the previous one. The first requests of clients that are connected are sent at
// one moment.
type Phase struct {
	Rate     float64 // per second
	Clients  int
	Duration time.Duration
	Count    int
}

// A Sending says how the requests of a phase were sent: those from number First
// on. The generator did not have the time to send those of an open model that were
// due and are not counted.
type Sending struct {
	First, Count int
	Unsent       int // of Count, because there were MaxConnections
}

// A running phase sends until ctx ends.
type running struct {
	Phase
	Sending
	ctx  context.Context
	stop context.CancelFunc
}

// Run sends the requests of p. It does not wait for the last replies.
func (g *Generator) Run(ctx context.Context, p Phase) Sending {
	begin := time.Now()
	r := &running{Phase: p, ctx: ctx}
	if p.Duration > 0 {
		var cancel context.CancelFunc
		r.ctx, cancel = context.WithTimeout(ctx, p.Duration)
		defer cancel()
	}
	r.ctx, r.stop = context.WithCancel(r.ctx)
	defer r.stop()
	g.mu.Lock()
	r.First, g.running = g.next, r
	g.mu.Unlock()
	if p.Rate > 0 {
		for due := begin; rig.Sleep(r.ctx, time.Until(due)); due = r.due(begin) {
			g.send(due)
		}
	}
	for range p.Clients {
		g.send(time.Now())
	}
	<-r.ctx.Done()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.running = nil
	return r.Sending
}

// due returns when the next request of an open model is due.
func (r *running) due(begin time.Time) time.Time {
	return begin.Add(time.Duration(float64(r.Sending.Count) / r.Rate * float64(time.Second)))
}

// send sends the next request of the phase, unless that is over.
func (g *Generator) send(due time.Time) {
	g.mu.Lock()
	c := g.turn(due)
	g.mu.Unlock()
	c.start()
}

// turn takes a connection for the next request of the phase, unless that is over or
// there are too many. The caller holds g.mu.
func (g *Generator) turn(due time.Time) *connection {
	r := g.running
	if r == nil || r.ctx.Err() != nil {
		return nil
	}
	c := g.take(due)
	if c == nil {
		r.Unsent++
	}
	if r.Sending.Count++; r.Sending.Count == r.Phase.Count {
		r.stop()
	}
	return c
}
