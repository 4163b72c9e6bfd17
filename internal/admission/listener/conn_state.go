package listener

import (
	"context"
	"net"
	"net/http"
	"time"
)

// connContext is the server's http.Server.ConnContext.
func (l *Listener) connContext(ctx context.Context, conn net.Conn) context.Context {
	if n, ok := conn.(*lane); ok {
		return n.context(ctx)
	}
	return ctx
}

// connState is the server's http.Server.ConnState.
func (l *Listener) connState(conn net.Conn, state http.ConnState) {
	n, ok := conn.(*lane)
	if !ok {
		return
	}
	c := n.Conn
	c.skipsByte.Store(state == http.StateActive)
	if state == http.StateActive && (c.passed || c.leaves.Load()) {
		c.passed = false
		n.place.Set(c.arrived)
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	c.seen = false
	switch state {
	case http.StateActive: // of a request behind the one before it
		c.idle = false
		c.arrived = time.Now()
		n.place.Set(c.arrived)
		if l.busy >= l.places {
			l.awaitPlace(c)
		}
		l.setBusy(c, true)
	case http.StateIdle:
		c.idle, c.begun, c.bounded, c.freed = true, false, false, false
		l.setBusy(c, false)
		n.mayMove = len(l.lanes) >= l.places && l.isCrowded()
	case http.StateClosed, http.StateHijacked:
		c.freed, c.served = false, false
		l.setBusy(c, false)
		delete(l.lanes, n)
		l.keep(c)
	}
}

// awaitPlace returns when a place has been given to c, or when it has waited for longest.
func (l *Listener) awaitPlace(c *Conn) {
	l.requests.PushBack(c)
	l.mu.Unlock()
	<-c.settled
	l.mu.Lock()
}

// keep parks a connection that the server has closed and that remains open.
func (l *Listener) keep(c *Conn) {
	switch {
	case !c.leaves.Swap(false):
		l.forget(c)
	case c.ends:
		l.drop(c)
	default:
		l.parkIdle(c)
	}
}

// free gives the place of n's connection to another one.
func (l *Listener) free(n *lane) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n.freed = true
	l.setBusy(n.Conn, false)
}

// noteFresh notes whether the first request of c has not arrived.
func (l *Listener) noteFresh(c *Conn, fresh bool) {
	if c.fresh == fresh {
		return
	}
	c.fresh = fresh
	if fresh {
		l.fresh++
	} else {
		l.fresh--
	}
}

// setBusy notes whether c is busy.
func (l *Listener) setBusy(c *Conn, busy bool) {
	if c.busy == busy {
		return
	}
	c.busy = busy
	if busy {
		l.busy++
		return
	}
	l.busy--
	l.admitNext()
	if l.draining.Load() {
		l.changed.Broadcast()
	}
}
