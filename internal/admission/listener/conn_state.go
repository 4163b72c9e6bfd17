package listener

import (
	"context"
	"net"
	"net/http"
	"time"

	"example.com/flashsale/internal/admission"
)

// ConnContext must be the server's http.Server.ConnContext. The context ends when the
// client hangs up.
func (l *Listener) ConnContext(ctx context.Context, conn net.Conn) context.Context {
	c, ok := conn.(*Conn)
	if !ok {
		return ctx
	}
	ctx, c.hungUp = context.WithCancel(ctx)
	return admission.WithPlace(ctx, &c.place)
}

// ConnState must be the server's http.Server.ConnState.
func (l *Listener) ConnState(conn net.Conn, state http.ConnState) {
	c, ok := conn.(*Conn)
	if !ok {
		return
	}
	c.skipsByte.Store(state == http.StateActive && c.raw != nil)
	if state == http.StateActive && c.passed {
		c.passed = false
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	c.seen = false
	switch state {
	case http.StateActive: // of a request that came with its connection, or behind the one before it
		c.idle = false
		if c.awaited {
			c.place.Set(time.Now())
		}
		if !c.busy && l.busy >= l.places {
			l.awaitPlace(c)
		}
		l.begin(c)
	case http.StateIdle:
		c.idle, c.awaited, c.freed = true, true, false
		c.begun, c.idleFor = false, unknown
		l.setBusy(c, false)
	case http.StateClosed, http.StateHijacked:
		c.freed = false
		l.noteFresh(c, false)
		l.setBusy(c, false)
		delete(l.open, c)
		l.update()
	}
}

// free gives the place of c to another connection.
func (l *Listener) free(c *Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c.freed = true
	l.setBusy(c, false)
}

// begin makes c busy, however many others are. A connection that could have been
// accepted before may have to wait now, and requests behind it need not.
func (l *Listener) begin(c *Conn) {
	l.noteFresh(c, false)
	l.setBusy(c, true)
	l.admitNext()
}

// noteFresh notes whether c has been accepted without a request.
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
	if l.connectionIsNext() || l.draining { // waking Accept costs each request a goroutine switch
		l.changed.Broadcast()
	}
}
