package generator

import (
	"context"
	"runtime"
	"time"
)

// A Phase is requests that follow one model. It ends after Duration or after Count
// requests, whichever is first; 0 is no limit.
//
// With a Rate the model is open: requests are due at that rate whether or not
// earlier ones have a reply, and one that finds no free connection opens another.
// Otherwise it is closed: each of Clients sends its next request after the reply to
// the previous one. The first requests of clients that are connected are sent at
// one moment, before any reply is read.
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

// maxRound is how many requests of an open model are sent before replies are read
// again.
const maxRound = 32

// Run sends the requests of p. It does not wait for the last replies.
func (g *Generator) Run(ctx context.Context, p Phase) Sending {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	s := Sending{First: g.next}
	for begin := time.Now(); ctx.Err() == nil && !p.over(begin, s.Count); {
		g.poll(min(g.sendDue(p, begin, &s), time.Millisecond))
	}
	return s
}

func (p Phase) over(begin time.Time, count int) bool {
	return p.Duration > 0 && time.Since(begin) >= p.Duration || p.Count > 0 && count >= p.Count
}

// sendDue sends what is due, and returns how long to wait for more.
func (g *Generator) sendDue(p Phase, begin time.Time, s *Sending) (wait time.Duration) {
	n := maxRound
	if p.Rate == 0 {
		n, wait = p.Clients-g.busy, time.Millisecond
	}
	if p.Count > 0 {
		n = min(n, p.Count-s.Count)
	}
	for range n {
		due := time.Now()
		if p.Rate > 0 {
			due = begin.Add(time.Duration(float64(s.Count) / p.Rate * float64(time.Second)))
			if early := time.Until(due); early > 0 {
				return early
			}
		}
		if !g.send(due) {
			s.Unsent++
		}
		s.Count++
	}
	return wait
}

// send sends the next request on the connection that was used last, or on a new
// one if none is free. It returns false if there are too many.
func (g *Generator) send(due time.Time) bool {
	n := g.next
	g.next++
	if last := len(g.idle) - 1; last >= 0 {
		c := g.idle[last]
		g.idle = g.idle[:last]
		c.accept(n, due)
		c.write()
		return true
	}
	if len(g.connections) >= MaxConnections {
		return false
	}
	c, err := g.dial()
	c.accept(n, due)
	if err != nil {
		c.fail(err)
	}
	return true
}
