package lock

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

// The watchdog of a grant is one timer. It renews the lease every third of its TTL, and
// ends the grant at the deadline if no renewal has succeeded by then.

// notExtended is the reason of a loss.
const notExtended = "not extended in time"

// safeTTL is how long after the request a lease of ttl is certainly held. The
// margin is Redlock's: for clocks that run at different speeds, and for
// expiries that are counted in whole milliseconds.
func safeTTL(ttl time.Duration) time.Duration {
	return ttl - ttl/100 - min(2*time.Millisecond, ttl/10)
}

// A renewal is what the watchdog knows of a grant.
type renewal struct {
	extended instant     // before the request that the server has last granted
	deadline time.Time   // until which the lock is certainly held
	timer    *time.Timer // of the next renewal, or the deadline; nil before the first
}

// late reports whether the deadline is over, also if the time to it has passed
// while the machine was suspended.
func (r *renewal) late(t instant) bool {
	return t.sub(r.extended) >= r.deadline.Sub(r.extended.Time)
}

// startRenewal begins to renew the lease, which was requested at requestedAt, unless
// Close has ended the grant.
func (g *grant) startRenewal() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.err == nil {
		g.timer = time.AfterFunc(g.options.TTL, g.renew)
		g.extendedAt(g.requestedAt)
	}
}

// extendedAt records a lease of full length that was requested at t. The caller holds mu.
func (g *grant) extendedAt(t instant) {
	g.extended, g.deadline = t, t.Add(safeTTL(g.options.TTL))
	g.renewAt(t.Add(g.options.TTL / 3))
}

// renewAt sets the timer to t, or to the deadline if that comes first or the lease is
// not to be renewed. The caller holds mu.
func (g *grant) renewAt(t time.Time) {
	if g.options.NoRenewal || t.After(g.deadline) {
		t = g.deadline
	}
	g.timer.Reset(time.Until(t))
}

// renew ends the grant if it is late, and renews its lease otherwise. It gives the
// server a fifth of the ttl to reply, which leaves time for a second and a third
// attempt. Until then the timer is that of the deadline.
func (g *grant) renew() {
	if g.check() != nil {
		return
	}
	g.mu.Lock()
	g.renewAt(g.deadline)
	g.mu.Unlock()
	ttl := g.options.TTL
	ctx, cancel := context.WithTimeout(context.Background(), ttl/5)
	defer cancel()
	requestedAt := now()
	g.renewed(requestedAt, g.lease.Extend(ctx, ttl))
}

// renewed records the result of a renewal, unless the grant has ended meanwhile.
func (g *grant) renewed(requestedAt instant, err error) {
	g.mu.Lock()
	if g.err != nil {
		g.mu.Unlock()
		return
	}
	late := time.Until(g.deadline) < g.options.TTL/3
	switch {
	case err == nil:
		g.extendedAt(requestedAt)
	case !errors.Is(err, ErrLost):
		g.renewAt(time.Now().Add(jitter(g.options.TTL / 20)))
	}
	g.mu.Unlock()
	g.reportRenewal(late, err)
}

func (g *grant) reportRenewal(late bool, err error) {
	switch {
	case err == nil && late:
		g.report(Event{Kind: EventRenewedLate})
	case err == nil:
		g.report(Event{Kind: EventRenewed})
	case errors.Is(err, ErrLost):
		g.lose("the server has ended it or given it to another")
	default:
		g.report(Event{Kind: EventRenewalUnknown, Err: err})
	}
}

// check ends the grant if its deadline is over, and returns why it has ended, or
// nil while it is held.
func (g *grant) check() error {
	g.mu.Lock()
	late := g.err == nil && g.late(now())
	g.mu.Unlock()
	if late {
		g.lose(notExtended)
	}
	return g.ended()
}

// jitter returns a random duration between half of d and one and a half.
func jitter(d time.Duration) time.Duration { return d/2 + rand.N(d+1) }
